// Reads what is new in a mailbox since the last time, and hands over each mail once.
import type { PresetContext } from 'svc-gateway/plugin'
import { type Google, GoogleError } from './google.ts'
import { type GmailMessage, mailOf } from './message.ts'
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

interface HistoryPage {
  history?: readonly { id: string; messagesAdded?: readonly { message: Pick<GmailMessage, 'id' | 'labelIds'> }[] }[]
  historyId: string
  nextPageToken?: string
}

interface MessagePage {
  messages?: readonly { id: string }[]
  nextPageToken?: string
}

interface MailboxDeps extends Pick<PresetContext, 'accept' | 'state' | 'log'> {
  google: Google
  watch: Watch
  /** The ids of the labels. */
  labelIds: readonly string[]
}

/** Returns a function that reads what is new. Its first call ever only notes where the mailbox stands. */
export function createMailbox({ google, watch, labelIds, accept, state, log }: MailboxDeps): () => Promise<void> {
  const key = `cursor:${watch.account}`
  const get = (path: string, query: Record<string, string> = {}) =>
    google({ service: 'gmail', path: `/gmail/v1/users/me/${path}`, query })
  const save = (cursor: Cursor) => state.set(key, { ...cursor })
  const readHistoryId = async () => ((await get('profile')) as { historyId: string }).historyId
  const isWanted = ({ labelIds: has }: Pick<GmailMessage, 'labelIds'>) =>
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
  async function readMessage(id: string): Promise<GmailMessage | undefined> {
    try {
      return (await get(`messages/${encodeURIComponent(id)}`, { format: 'full' })) as GmailMessage
    } catch (error) {
      if (error instanceof GoogleError && error.status === 404) return undefined
      throw error
    }
  }

  async function readHistory(start: Cursor): Promise<void> {
    let cursor = start
    let pageToken: string | undefined
    do {
      const query = { startHistoryId: start.historyId, historyTypes: 'messageAdded', maxResults: '500' }
      const page = (await get('history', { ...query, ...(pageToken && { pageToken }) })) as HistoryPage
      for (const { id, messagesAdded = [] } of page.history ?? []) {
        for (const { message } of messagesAdded)
          if (!message.labelIds || isWanted(message)) cursor = await deliver(message.id, cursor)
        cursor = { ...cursor, historyId: id }
      }
      pageToken = page.nextPageToken
      if (!pageToken) cursor = { ...cursor, historyId: page.historyId }
    } while (pageToken)
    if (cursor.historyId !== start.historyId) await save(cursor)
  }

  /** Gmail keeps the history for about a week. After that, the mails since the newest known one are listed. */
  async function readMissed(start: Cursor): Promise<void> {
    log.warn({ account: watch.account }, 'Gmail has no history since the last mail; the mails since then are listed')
    // Read before the list, so that a mail that comes meanwhile is in one of the two.
    const historyId = await readHistoryId()
    let cursor = start
    for (const id of await listSince(start.seenAt - overlapMs)) cursor = await deliver(id, cursor)
    await save({ ...cursor, historyId })
  }

  /** The ids of mails with one of the labels, oldest first. */
  async function listSince(time: number): Promise<string[]> {
    const ids = new Set<string>()
    for (const labelId of labelIds) {
      let pageToken: string | undefined
      do {
        const query = { q: `after:${Math.floor(time / 1000)}`, labelIds: labelId, maxResults: '500' }
        const page = (await get('messages', { ...query, ...(pageToken && { pageToken }) })) as MessagePage
        for (const { id } of page.messages ?? []) ids.add(id)
        pageToken = page.nextPageToken
      } while (pageToken)
    }
    return [...ids].toReversed()
  }

  return async () => {
    const cursor = (await state.get(key)) as Cursor | undefined
    if (!cursor) return await save({ historyId: await readHistoryId(), seenAt: Date.now(), recent: [] })
    try {
      await readHistory(cursor)
    } catch (error) {
      if (!(error instanceof GoogleError && error.status === 404)) throw error
      await readMissed(cursor)
    }
  }
}
