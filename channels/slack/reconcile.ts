// Asks Slack whether a message has arrived: by the key in its metadata, or by the file that was uploaded for it.
import type { WebClient } from '@slack/web-api'
import type { Connection } from 'svc-gateway/plugin'
import type { Directory } from './directory.ts'
import { toUnsent } from './errors.ts'
import { pagesOf } from './pages.ts'
import type { createUploads } from './uploads.ts'

interface ReconcileDeps {
  web: WebClient
  directory: Pick<Directory, 'conversationOf'>
  uploads: Pick<ReturnType<typeof createUploads>, 'find'>
}

interface Place {
  channel: string
  threadId: string | undefined
  /** Since when its messages are read, in milliseconds. */
  since: number
}

/** How far the clocks of Slack and of the gateway may differ. */
const clockSkewMs = 10 * 60_000

export function createReconcile({ web, directory, uploads }: ReconcileDeps): NonNullable<Connection['reconcile']> {
  return async ({ key, to, threadId, firstAttemptAt }) => {
    try {
      const file = await uploads.find(key)
      if (file !== undefined) return await findFile(web, file)
      const channel = await directory.conversationOf(to)
      return await findMessage(web, { key, place: { channel, threadId, since: firstAttemptAt - clockSkewMs } })
    } catch (error) {
      const result = toUnsent(error)
      if (result.outcome === 'failed' && result.reason === 'permanent') return 'unknown'
      throw new Error(result.detail, { cause: error })
    }
  }
}

async function findFile(web: WebClient, file: string): Promise<'sent' | 'absent'> {
  const { file: found } = await web.files.info({ file })
  const places = [found?.channels, found?.groups, found?.ims]
  return places.some((list) => list?.length) || Object.keys(found?.shares ?? {}).length > 0 ? 'sent' : 'absent'
}

/** Goes back from the newest message. Gives up in a conversation that is too busy. */
async function findMessage(web: WebClient, { key, place }: { key: string; place: Place }) {
  for await (const { messages = [], response_metadata: next } of readPages(web, place)) {
    if (messages.some(({ metadata }) => keyOf(metadata) === key)) return 'sent'
    if (!next?.next_cursor) return 'absent'
  }
  return 'unknown'
}

/** The history of a channel does not contain the messages of its threads. */
function readPages(web: WebClient, { channel, threadId, since }: Place) {
  const options = { channel, oldest: String(Math.floor(since / 1000)), include_all_metadata: true }
  return pagesOf((page) =>
    threadId === undefined
      ? web.conversations.history({ ...options, ...page })
      : web.conversations.replies({ ...options, ...page, ts: threadId }),
  )
}

const keyOf = (metadata: { event_payload?: { key?: unknown } } | undefined): unknown => metadata?.event_payload?.key
