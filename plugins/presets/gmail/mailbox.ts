// Reads what is new in a mailbox since the last time, and hands over each mail once.
import type { gmail_v1 } from '@googleapis/gmail'
import type { PresetContext } from 'svc-gateway/plugin'
import { hasStatus } from './google-error.ts'
import type { Google } from './google.ts'
import { mailOf } from './message.ts'
import type { Watch } from './settings.ts'

/** How far the mailbox is read. Each mail is on disk before the cursor moves past it. */
interface Cursor {
  historyId: string
  /** When Gmail received the newest mail, in Unix milliseconds. */
  seenAt: number
  /** The ids of the last mails, to recognize them if the history is lost. */
  recent: readonly string[]
}

const maxRecent = 500
/** Mails that came shortly before the newest one may have been stored after it. */
const overlapMs = 600_000
/** Mails that are not incoming. */
const excluded: readonly string[] = ['SENT', 'DRAFT', 'SPAM', 'TRASH']

interface MailboxDeps extends Pick<PresetContext, 'accept' | 'state' | 'log'> {
  google: Google
  watch: Watch
  /** The ids of the labels. */
  labelIds: readonly string[]
}

/** Returns a function that reads what is new. Its first call ever only notes where the mailbox stands. */
export function createMailbox({ google, watch, labelIds, accept, state, log }: MailboxDeps): () => Promise<void> {
  const key = `cursor:${watch.account}`
  const save = (cursor: Cursor) => state.set(key, { ...cursor })
  const isWanted = ({ labelIds: has }: gmail_v1.Schema$Message) =>
    labelIds.some((id) => has?.includes(id)) && !excluded.some((id) => has?.includes(id))

  /** Resolves when the mail is on disk, or is none that is wanted. */
  async function deliver(id: string, cursor: Cursor): Promise<Cursor> {
    if (cursor.recent.includes(id)) return cursor
    const message = await readMessage(id)
    if (!message || !isWanted(message)) return cursor
    await accept({ source: 'gmail', account: watch.account, messages: [mailOf(message, watch)] }, { id })
    const { historyId, seenAt, recent } = cursor
    const next = {
      historyId,
      seenAt: Math.max(seenAt, Number(message.internalDate) || 0),
      recent: [...recent, id].slice(-maxRecent),
    }
    await save(next)
    return next
  }

  /** Undefined: the mail was deleted meanwhile. */
  async function readMessage(id: string): Promise<gmail_v1.Schema$Message | undefined> {
    try {
      return await google.gmail((users) => users.messages.get({ userId: 'me', id, format: 'full' }))
    } catch (error) {
      if (hasStatus(error, 404)) return undefined
      throw error
    }
  }

  async function readHistory(start: Cursor): Promise<void> {
    let cursor = start
    for await (const page of listHistory(start.historyId)) {
      for (const { id, messagesAdded = [] } of page.history ?? []) {
        for (const { message } of messagesAdded)
          if (message?.id && (!message.labelIds || isWanted(message))) cursor = await deliver(message.id, cursor)
        cursor = { ...cursor, historyId: id ?? cursor.historyId }
      }
      if (!page.nextPageToken) cursor = { ...cursor, historyId: page.historyId ?? cursor.historyId }
    }
    if (cursor.historyId !== start.historyId) await save(cursor)
  }

  const listHistory = (startHistoryId: string) =>
    pagesOf<gmail_v1.Schema$ListHistoryResponse>((page) =>
      google.gmail((users) =>
        users.history.list({ userId: 'me', startHistoryId, historyTypes: ['messageAdded'], maxResults: 500, ...page }),
      ),
    )

  /** Gmail keeps the history for about a week. After that, the mails since the newest known one are listed. */
  async function readMissed(start: Cursor): Promise<void> {
    log.warn({ account: watch.account }, 'Gmail has no history since the last mail; the mails since then are listed')
    // Read before the list, so that a mail that comes meanwhile is in one of the two.
    const historyId = await readHistoryId(google)
    let cursor = start
    for (const id of await listSince(start.seenAt - overlapMs)) cursor = await deliver(id, cursor)
    await save({ ...cursor, historyId })
  }

  /** The ids of mails with one of the labels, oldest first. */
  async function listSince(time: number): Promise<string[]> {
    const ids = new Set<string>()
    const query = { userId: 'me', q: `after:${Math.floor(time / 1000)}`, maxResults: 500 }
    for (const labelId of labelIds) {
      const pages = pagesOf<gmail_v1.Schema$ListMessagesResponse>((page) =>
        google.gmail((users) => users.messages.list({ ...query, labelIds: [labelId], ...page })),
      )
      for await (const { messages = [] } of pages) for (const { id } of messages) if (id) ids.add(id)
    }
    return [...ids].toReversed()
  }

  return async () => {
    const cursor = (await state.get(key)) as Cursor | undefined
    if (!cursor) return await save({ historyId: await readHistoryId(google), seenAt: Date.now(), recent: [] })
    try {
      await readHistory(cursor)
    } catch (error) {
      if (!hasStatus(error, 404)) throw error
      await readMissed(cursor)
    }
  }
}

async function readHistoryId(google: Google): Promise<string> {
  const { historyId } = await google.gmail((users) => users.getProfile({ userId: 'me' }))
  if (!historyId) throw new Error('Gmail answered without a history id.')
  return historyId
}

/** All pages of a list. */
async function* pagesOf<Page extends { nextPageToken?: string | null }>(
  read: (page: { pageToken?: string }) => Promise<Page>,
): AsyncGenerator<Page> {
  let pageToken: string | null | undefined
  do {
    const page = await read(pageToken ? { pageToken } : {})
    yield page
    pageToken = page.nextPageToken
  } while (pageToken)
}
