// Fetches the messages of a conversation that were written while there was no connection, oldest first.
import { fieldsOf } from 'svc-gateway/kit'
import { isId } from './messages.ts'

interface Missed {
  channelId: string
  /** The last message that was received. */
  after: string
  /** @returns up to `limit` messages, the first that follow `after`, in any order */
  fetchPage(query: { after: string; limit: number }): Promise<unknown>
}

/** Older messages are not answered any more. */
const maxAgeMs = 24 * 60 * 60 * 1000

const pageSize = 100

/** The beginning of Discord's ids: milliseconds since then are their upper bits. */
const epochMs = 1_420_070_400_000

export async function* fetchMissed({ channelId, after, fetchPage }: Missed): AsyncGenerator {
  let last = later(after, idOfTime(Date.now() - maxAgeMs))
  for (;;) {
    const page = await fetchPage({ after: last, limit: pageSize })
    const messages = (Array.isArray(page) ? page : []).flatMap((message: unknown) => {
      const { id } = fieldsOf(message)
      // The channel is not taken from the message, because the answer must be about the one that was asked for.
      return isId(id) && isLater(id, last) ? [{ ...fieldsOf(message), id, channel_id: channelId }] : []
    })
    messages.sort((a, b) => (isLater(a.id, b.id) ? 1 : -1))
    yield* messages
    const newest = messages.at(-1)
    if (newest === undefined || messages.length < pageSize) return
    last = newest.id
  }
}

const idOfTime = (ms: number): string => String(BigInt(ms - epochMs) << 22n)

const isLater = (id: string, other: string): boolean => BigInt(id) > BigInt(other)

const later = (id: string, other: string): string => (isLater(id, other) ? id : other)
