// The outbox: messages wait in the lane of their recipient, are handed out one at a time, and end in exactly one way.
import type { Json } from '../plugin.ts'
import { type Condition, listPage, mapPage } from './lists.ts'
import { type ClaimOptions, reaperLeaseMs } from './run-leases.ts'
import type { MessageFilter, NewMessage, Page, PageRequest, Store, StoredMessage, Timestamp } from './store.ts'
import type { Transaction } from './transaction.ts'

const insertSql = `
  INSERT INTO message (id, run_id, channel, account_id, recipient, thread_id, route, text, status, reason, next_at, created_at, attempt, fence, chunks_sent, uncertain)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0)`

export async function insertMessage(tx: Transaction, message: NewMessage, at: Timestamp): Promise<void> {
  const { id, runId, channel, accountId, to, threadId, route, text, status, reason } = message
  await tx.run(insertSql, id, runId, channel, accountId, to, threadId, JSON.stringify(route), text, status, reason, at, at)
}

interface MessageRow extends Omit<StoredMessage, 'route' | 'uncertain'> {
  route: string
  uncertain: number
}

const columns = `seq, id, run_id AS "runId", channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId", route, text,
  status, reason, attempt, fence, chunks_sent AS "chunksSent", uncertain, platform_id AS "platformId", next_at AS "nextAt", created_at AS "createdAt"`

const toMessage = (row: MessageRow): StoredMessage => ({ ...row, route: JSON.parse(row.route) as Json, uncertain: row.uncertain === 1 })

/** RETURNING promises no order. */
const inOrder = (rows: MessageRow[]): StoredMessage[] => rows.sort((a, b) => a.seq - b.seq).map(toMessage)

/** The oldest message of a lane that has not ended: while it waits for another attempt, nothing overtakes it. */
const headOfLane = `(
  SELECT live.seq FROM message AS live
  WHERE live.channel = waiting.channel AND live.account_id = waiting.account_id AND live.recipient = waiting.recipient
    AND live.status IN ('pending', 'sending')
  ORDER BY live.channel, live.account_id, live.recipient, live.seq LIMIT 1)`

/** A message that is sent once more comes back to the front of its lane, and may find a later one being sent. */
const sendingInLane = `(
  SELECT 1 FROM message AS busy
  WHERE busy.channel = waiting.channel AND busy.account_id = waiting.account_id AND busy.recipient = waiting.recipient AND busy.status = 'sending')`

const claimSql = `
  UPDATE message SET status = 'sending', attempt = attempt + 1, fence = fence + 1, owner = ?, lease_until = ?
  WHERE seq IN (
    SELECT waiting.seq FROM message AS waiting
    WHERE waiting.status = 'pending' AND waiting.next_at <= ? AND waiting.seq = ${headOfLane} AND NOT EXISTS ${sendingInLane}
    ORDER BY waiting.next_at, waiting.seq LIMIT ?)
  RETURNING ${columns}`

export async function claimMessages(tx: Transaction, { owner, max, at, leaseMs }: ClaimOptions): Promise<StoredMessage[]> {
  return inOrder(await tx.all<MessageRow>(claimSql, owner, at + leaseMs, at, max))
}

const advanceSql = `UPDATE message SET chunks_sent = ?, uncertain = 0 WHERE id = ? AND fence = ? AND status = 'sending'`

export async function advanceMessage(tx: Transaction, ...[id, fence, chunksSent]: Parameters<Store['advanceMessage']>): Promise<boolean> {
  return (await tx.run(advanceSql, chunksSent, id, fence)) === 1
}

const endSql = `
  UPDATE message SET status = ?, reason = ?, platform_id = ?, ended_at = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fence = ? AND status = 'sending'`
const retrySql = `
  UPDATE message SET status = 'pending', reason = ?, next_at = ?, uncertain = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fence = ? AND status = 'sending'`

export async function endMessage(tx: Transaction, ...[id, fence, end, at]: Parameters<Store['endMessage']>): Promise<boolean> {
  if (end.status === 'retry') return (await tx.run(retrySql, end.reason, end.nextAt, Number(end.uncertain), id, fence)) === 1
  const reason = end.status === 'sent' ? null : end.reason
  const platformId = end.status === 'sent' ? end.platformId : null
  return (await tx.run(endSql, end.status, reason, platformId, at, id, fence)) === 1
}

const reapSql = `UPDATE message SET fence = fence + 1, lease_until = ? WHERE status = 'sending' AND lease_until <= ? RETURNING ${columns}`

export async function reapMessages(tx: Transaction, at: Timestamp): Promise<StoredMessage[]> {
  return inOrder(await tx.all<MessageRow>(reapSql, at + reaperLeaseMs, at))
}

const ofRunSql = `SELECT ${columns} FROM message WHERE run_id = ? ORDER BY seq`

export async function messagesOfRun(tx: Transaction, runId: string): Promise<StoredMessage[]> {
  return inOrder(await tx.all<MessageRow>(ofRunSql, runId))
}

export async function listMessages(tx: Transaction, filter: MessageFilter, page: PageRequest): Promise<Page<StoredMessage>> {
  const { status, channel } = filter
  const listing = {
    table: 'message',
    keys: 'seq, channel',
    where: narrowest(filter),
    fits: channel === undefined ? undefined : (key: Pick<MessageRow, 'seq' | 'channel'>) => key.channel === channel,
    columns,
    // The status lies behind the text in its row, so it is read with it.
    matches: status === undefined ? undefined : (row: MessageRow) => row.status === status,
    sizeOf: ({ text, route }: MessageRow) => text.length + route.length,
  }
  return mapPage(await listPage(tx, listing, page), toMessage)
}

/** Most are sent, so that there is an index only for the others. */
const narrowest = ({ status }: MessageFilter): Condition | undefined => (status && status !== 'sent' ? [`status <> 'sent' AND status = ?`, status] : undefined)

const getSql = `SELECT ${columns} FROM message WHERE id = ?`

export async function getMessage(tx: Transaction, id: string): Promise<StoredMessage | undefined> {
  const [row] = await tx.all<MessageRow>(getSql, id)
  return row && toMessage(row)
}

/** Whoever asks for it wants it sent, whatever became of the attempt that was lost. */
const againSql = `
  UPDATE message SET status = 'pending', reason = NULL, next_at = ?, attempt = 0, uncertain = 0, ended_at = NULL
  WHERE id = ? AND status IN ('failed', 'unknown')`

export async function retryMessage(tx: Transaction, id: string, at: Timestamp): Promise<boolean> {
  return (await tx.run(againSql, at, id)) === 1
}

/** Only heads of lanes: what waits behind another message is not due, whatever its own time says. */
const nextSql = `
  SELECT next_at AS "nextAt" FROM message AS waiting
  WHERE status = 'pending' AND seq = ${headOfLane} AND NOT EXISTS ${sendingInLane} ORDER BY next_at LIMIT 1`

export async function nextMessageAt(tx: Transaction): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ nextAt: number }>(nextSql)
  return row?.nextAt
}
