// The outbox: deliveries wait in their recipient's lane, are claimed one at a time, and end exactly once.
import { readJson } from '../../json.ts'
import type { Json, MessageChoice } from '../../plugin/plugin.ts'
import type { Recipient } from '../run-spec.ts'
import type { Insertion, Reader, ReadLater, Row, Timestamp, Transaction } from '../transaction.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { insertEvents, type NewEvent } from './event.ts'
import { nextToken } from './lease.ts'
import { type Condition, listPage, mapPage, type Page, type PageRequest } from './page.ts'
import type { NewRoute } from './route.ts'
import { recoveryLeaseMs } from './run-queue.ts'

export const outboxWrites = {
  claimDeliveries,
  advanceDelivery,
  endDelivery,
  failDelivery,
  recoverExpiredDeliveries,
  retryDelivery,
}
export const outboxReads = { listRunDeliveries, listDeliveries, getDelivery, getSentMessage, getNextDeliveryAt }

export type DeliveryStatus = 'pending' | 'sending' | 'sent' | 'failed' | 'unknown' | 'skipped'

/** An account of a channel. */
export interface AccountRef {
  channel: string
  accountId: string
}

/** A file of an agent's workspace, which is read when it is sent. */
export interface DeliveryFile {
  /** The absolute path of the workspace. */
  folder: string
  /** The path inside the workspace. */
  path: string
  /** The name that the recipient sees. */
  name: string
  /** Media type. */
  type: string
}

/** A status other than `pending` records a message that is not sent, with the reason. */
export interface NewDelivery {
  /** `<runId>:<n>`, or an id of its own for a message that a tool sends. */
  id: string
  /** Empty for a message that an HTTP client sends. */
  runId: string
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
  text: string
  /** A file that is sent with the text. */
  file?: DeliveryFile | null
  /** What its reader can pick, if the channel can show it. */
  choices?: readonly MessageChoice[] | null
  /** The id of the delivery whose choices are removed when this one is sent. */
  endsChoicesOf?: string | null
  /** The recipient if it is not resolved yet, because this gateway lacks its channel. Another one may have it. */
  wanted?: Recipient | null
  status: 'pending' | 'failed' | 'skipped'
  reason: string | null
}

export interface StoredDelivery extends Omit<NewDelivery, 'status' | 'file' | 'choices' | 'endsChoicesOf' | 'wanted'> {
  seq: number
  file: DeliveryFile | null
  choices: readonly MessageChoice[] | null
  endsChoicesOf: string | null
  wanted: Recipient | null
  status: DeliveryStatus
  attempt: number
  fencingToken: number
  /** The number of chunks that the platform has confirmed. */
  chunksSent: number
  /** True: it is unknown whether the platform received the next chunk, because the answer or the sender was lost. */
  uncertain: boolean
  /** When the chunk was first sent of which it is not known whether it arrived. It may be too early, but not too late. */
  attemptedAt: Timestamp | null
  platformId: string | null
  nextAt: Timestamp
  createdAt: Timestamp
}

/** A failure that the platform has reported after it had accepted the chunk. */
export interface LateFailureRecord {
  /** From 0. */
  chunk: number
  reason: string
  event: NewEvent
}

/**
 * The result of an attempt. `retry` returns the delivery to `pending`, due at `nextAt` (0: at once); with an `address`
 * it goes into the lane of that recipient. `event` is stored in the same transaction.
 */
export type DeliveryEnd =
  | { status: 'sent'; platformId: string | null }
  | { status: 'failed' | 'unknown'; reason: string; event?: NewEvent | undefined }
  | { status: 'retry'; reason: string; nextAt: Timestamp; uncertain: boolean; address?: NewRoute | undefined }

export const deliveryInsertion: Insertion = {
  table: 'outbox',
  columns: {
    id: 'text',
    run_id: 'text',
    channel: 'text',
    account_id: 'text',
    recipient: 'text',
    thread_id: 'text',
    route: 'text',
    text: 'text',
    file: 'text',
    choices: 'text',
    ends_choices_of: 'text',
    wanted: 'text',
    status: 'text',
    reason: 'text',
    created_at: 'integer',
  },
}

export function toDeliveryRow(delivery: NewDelivery, at: Timestamp): Row {
  const { id, runId, channel, accountId, to, threadId, text, status, reason } = delivery
  const route = JSON.stringify(delivery.route)
  const file = delivery.file ? JSON.stringify(delivery.file) : null
  const choices = delivery.choices ? JSON.stringify(delivery.choices) : null
  const ends = delivery.endsChoicesOf ?? null
  const wanted = delivery.wanted ? JSON.stringify(delivery.wanted) : null
  return [id, runId, channel, accountId, to, threadId, route, text, file, choices, ends, wanted, status, reason, at]
}

export async function insertDeliveries(
  tx: Transaction,
  deliveries: readonly NewDelivery[],
  at: Timestamp,
): Promise<void> {
  const rows = deliveries.map((delivery) => toDeliveryRow(delivery, at))
  await tx.insert(deliveryInsertion, rows)
}

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined
  channel?: string | undefined
  /** Only deliveries of runs of these agents. */
  agents?: readonly string[] | undefined
}

interface DeliveryRow extends Omit<StoredDelivery, 'route' | 'file' | 'choices' | 'wanted' | 'uncertain'> {
  route: string
  file: string | null
  choices: string | null
  wanted: string | null
  uncertain: number
}

const columns = `
  seq, id, run_id AS "runId", channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId",
  route, text, file, choices, ends_choices_of AS "endsChoicesOf", wanted, status, reason, attempt,
  fencing_token AS "fencingToken", chunks_sent AS "chunksSent", uncertain, attempted_at AS "attemptedAt",
  outbox.platform_id AS "platformId", next_at AS "nextAt", created_at AS "createdAt"`

const toDelivery = (row: DeliveryRow): StoredDelivery => ({
  ...row,
  nextAt: row.nextAt === 0 ? row.createdAt : row.nextAt,
  route: readJson(row.route) as Json,
  file: row.file === null ? null : (JSON.parse(row.file) as DeliveryFile),
  choices: row.choices === null ? null : (JSON.parse(row.choices) as MessageChoice[]),
  wanted: row.wanted === null ? null : (JSON.parse(row.wanted) as Recipient),
  uncertain: row.uncertain === 1,
})

/** RETURNING does not guarantee an order. */
const toSortedDeliveries = (rows: DeliveryRow[]): StoredDelivery[] => rows.sort((a, b) => a.seq - b.seq).map(toDelivery)

/** The oldest live delivery of a lane. While it waits for another attempt, no later delivery overtakes it. */
const headOfLane = `(
  SELECT live.seq FROM outbox AS live
  WHERE live.channel = waiting.channel AND live.account_id = waiting.account_id AND live.recipient = waiting.recipient
    AND live.status IN ('pending', 'sending')
  ORDER BY live.channel, live.account_id, live.recipient, live.seq LIMIT 1)`

/** A retried delivery returns to the head of its lane, where a later one may be being sent. */
const sendingInLane = `(
  SELECT 1 FROM outbox AS busy
  WHERE busy.channel = waiting.channel AND busy.account_id = waiting.account_id AND busy.recipient = waiting.recipient
    AND busy.status = 'sending')`

/** Leaves out the deliveries of some accounts. */
const isNot = (accounts: readonly AccountRef[]): string =>
  accounts.map(() => ' AND NOT (waiting.channel = ? AND waiting.account_id = ?)').join('')
const valuesOf = (accounts: readonly AccountRef[]): string[] =>
  accounts.flatMap(({ channel, accountId }) => [channel, accountId])

/**
 * A claim begins with no delivery behind this many bytes, so that a database that sends the texts before it commits never
 * waits for a gateway that does not take them.
 */
const maxClaimedBytes = 128 * 1024

/** MATERIALIZED: as in the claim of runs. */
const claimSql = (except: readonly AccountRef[]) => `
  WITH head AS MATERIALIZED (
    SELECT waiting.seq, waiting.next_at, octet_length(waiting.text) AS size FROM outbox AS waiting
    WHERE waiting.status = 'pending' AND waiting.next_at <= ? AND waiting.seq = ${headOfLane}
      AND NOT EXISTS ${sendingInLane}${isNot(except)}
    ORDER BY waiting.next_at, waiting.seq LIMIT ?)
  UPDATE outbox SET status = 'sending', attempt = attempt + 1, fencing_token = ${nextToken},
    owner = ?, lease_until = ?, attempted_at = coalesce(attempted_at, ?)
  WHERE seq IN (
    SELECT seq FROM (SELECT seq, size, sum(size) OVER (ORDER BY next_at, seq) AS total FROM head) AS limited
    WHERE total - size < ${maxClaimedBytes})
  RETURNING ${columns}`

interface DeliveryClaim {
  owner: string
  max: number
  /** Accounts whose deliveries are left to others. */
  except?: readonly AccountRef[] | undefined
  at: Timestamp
  leaseMs: number
}

/**
 * Claims deliveries that are due, of each lane (channel, account, recipient) only the oldest, and marks them as
 * sending. It may leave some for the next claim if their texts are long.
 */
export async function claimDeliveries(
  tx: Transaction,
  { owner, max, except = [], at, leaseMs }: DeliveryClaim,
): Promise<StoredDelivery[]> {
  const values = [at, ...valuesOf(except), max, at, at, owner, at + leaseMs, at]
  return toSortedDeliveries(await tx.all<DeliveryRow>(claimSql(except), ...values))
}

const advanceSql = `
  UPDATE outbox SET chunks_sent = ?, uncertain = 0 WHERE id = ? AND fencing_token = ? AND status = 'sending'`

interface Advance {
  /** How many chunks the platform has confirmed. */
  chunksSent: number
  /** The id of the last of them. */
  platformId: string | null
}

/** Records that the platform has confirmed one more chunk. @returns false when the fencing token is stale */
export async function advanceDelivery(
  tx: Transaction,
  id: string,
  fencingToken: number,
  { chunksSent, platformId }: Advance,
): Promise<boolean> {
  if ((await tx.run(advanceSql, chunksSent, id, fencingToken)) === 0) return false
  await recordSent(tx, id, platformId)
  return true
}

const recordSentSql = `
  INSERT INTO sent_message (delivery, platform_id) SELECT seq, ? FROM outbox WHERE id = ?
  ON CONFLICT (delivery, platform_id) DO NOTHING`

/** Remembers a message on its platform, so that it is known when somebody quotes it. */
async function recordSent(tx: Transaction, id: string, platformId: string | null): Promise<void> {
  if (platformId !== null) await tx.run(recordSentSql, platformId, id)
}

const endSql = `
  UPDATE outbox SET status = ?, reason = ?, platform_id = ?, ended_at = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fencing_token = ? AND status = 'sending'`
const retryLaterSql = `
  UPDATE outbox SET status = 'pending', reason = ?, next_at = ?, uncertain = ?, owner = NULL, lease_until = NULL,
    attempted_at = CASE WHEN ? = 1 THEN attempted_at END
  WHERE id = ? AND fencing_token = ? AND status = 'sending'`

const addressSql = `
  UPDATE outbox SET channel = ?, account_id = ?, recipient = ?, thread_id = ?, route = ?, wanted = NULL WHERE id = ?`

/** Ends an attempt, and stores the event of `end`. @returns false when the fencing token is stale */
export async function endDelivery(
  tx: Transaction,
  id: string,
  fencingToken: number,
  end: DeliveryEnd,
  at: Timestamp,
): Promise<boolean> {
  if (end.status === 'retry') {
    const { nextAt, uncertain } = end
    const values = [end.reason, nextAt, Number(uncertain), Number(uncertain), id, fencingToken]
    if ((await tx.run(retryLaterSql, ...values)) === 0) return false
    if (!end.address) return true
    const { channel, accountId, to, threadId, route } = end.address
    return (await tx.run(addressSql, channel, accountId, to, threadId, JSON.stringify(route), id)) === 1
  }
  const reason = end.status === 'sent' ? null : end.reason
  const platformId = end.status === 'sent' ? end.platformId : null
  if ((await tx.run(endSql, end.status, reason, platformId, at, id, fencingToken)) === 0) return false
  await recordSent(tx, id, platformId)
  if (end.status !== 'sent' && end.event) await insertEvents(tx, [end.event], at)
  return true
}

/** An attempt that is under way cannot overwrite the failure, because the delivery is no longer being sent. */
const failSql = `
  UPDATE outbox SET status = 'failed', reason = ?, ended_at = ?, owner = NULL, lease_until = NULL, uncertain = 0,
    chunks_sent = CASE WHEN chunks_sent > ? THEN ? ELSE chunks_sent END
  WHERE id = ? AND attempt > 0 AND status IN ('pending', 'sending', 'sent', 'unknown')`

/**
 * Fails a delivery although the platform has accepted its chunk: an attempt that is under way is void, and
 * `retryDelivery` begins with this chunk. The event is stored with it.
 * @returns false when there is no such delivery, or when it has failed, was skipped, or was not attempted
 */
export async function failDelivery(
  tx: Transaction,
  id: string,
  { chunk, reason, event }: LateFailureRecord,
  at: Timestamp,
): Promise<boolean> {
  if ((await tx.run(failSql, reason, at, chunk, chunk, id)) === 0) return false
  await insertEvents(tx, [event], at)
  return true
}

const recoverSql = (condition: string) => `
  UPDATE outbox SET fencing_token = fencing_token + 1, lease_until = ?
  WHERE status = 'sending' AND ${condition}
  RETURNING seq, fencing_token AS "fencingToken"`
const recoveredSql = `SELECT ${columns} FROM outbox WHERE seq = ?`
const recoverExpiredSql = recoverSql('lease_until <= ?')
const takeOverSql = recoverSql('channel = ? AND account_id = ? AND owner <> ?')

/**
 * Returns deliveries whose lease expired while they were being sent, or which other owners were sending on an account
 * that `takenOver` says is now the caller's. The caller has 30 seconds to end each of them (`endDelivery` with the
 * returned fencing token).
 */
export async function recoverExpiredDeliveries(
  tx: Transaction,
  at: Timestamp,
  takenOver?: AccountRef & { owner: string },
): Promise<ReadLater<StoredDelivery[]>> {
  const until = at + recoveryLeaseMs
  const recovered = await tx.all<RecoveredRow>(recoverExpiredSql, until, at)
  if (takenOver) {
    const { channel, accountId, owner } = takenOver
    recovered.push(...(await tx.all<RecoveredRow>(takeOverSql, until, channel, accountId, owner)))
  }
  const read = async (reader: Reader, { seq, fencingToken }: RecoveredRow): Promise<DeliveryRow[]> =>
    (await reader.all<DeliveryRow>(recoveredSql, seq)).map((row) => Object.assign(row, { fencingToken }))
  return {
    readLater: async (reader) =>
      toSortedDeliveries((await Promise.all(recovered.map((row) => read(reader, row)))).flat()),
  }
}

type RecoveredRow = Pick<DeliveryRow, 'seq' | 'fencingToken'>

/** The deliveries of runs, those of a run together and in their order. */
export async function listRunDeliveries(tx: Transaction, runIds: readonly string[]): Promise<StoredDelivery[]> {
  if (runIds.length === 0) return []
  const placeholders = runIds.map(() => '?').join(', ')
  const sql = `SELECT ${columns} FROM outbox WHERE run_id IN (${placeholders}) ORDER BY run_id, seq`
  return (await tx.all<DeliveryRow>(sql, ...runIds)).map(toDelivery)
}

/** The agent of the run that a delivery belongs to. */
const agentSql = '(SELECT agent_id FROM run WHERE run.id = outbox.run_id) AS "agentId"'

type DeliveryKey = Pick<DeliveryRow, 'seq' | 'channel' | 'status'> & { agentId?: string | null }

export async function listDeliveries(
  tx: Transaction,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<StoredDelivery>> {
  const { status, channel, agents } = filter
  const isFiltered = status !== undefined || channel !== undefined || agents !== undefined
  const matchesKey = (key: DeliveryKey): boolean =>
    (status === undefined || key.status === status) &&
    (channel === undefined || key.channel === channel) &&
    (!agents || agents.includes(key.agentId ?? ''))
  const listing = {
    table: 'outbox',
    keys: agents ? `seq, channel, status, ${agentSql}` : 'seq, channel, status',
    where: toCondition(filter),
    matchesKey: isFiltered ? matchesKey : undefined,
    columns,
    sizeOf: ({ text, route }: DeliveryRow) => text.length + route.length,
  }
  return mapPage(await listPage(tx, listing, page), toDelivery)
}

/** Repeats the condition of the index, which leaves out sent deliveries because most are. */
const toCondition = ({ status }: DeliveryFilter): Condition | undefined =>
  status && status !== 'sent' ? [`status <> 'sent' AND status = ?`, status] : undefined

const getSql = `SELECT ${columns} FROM outbox WHERE id = ?`

export async function getDelivery(tx: Transaction, id: string): Promise<StoredDelivery | undefined> {
  const [row] = await tx.all<DeliveryRow>(getSql, id)
  return row && toDelivery(row)
}

/** A conversation, whose recipient may have several ids. */
export interface Conversation {
  channel: string
  accountId: string
  recipients: readonly string[]
}

const getSentSql = `
  SELECT ${columns} FROM sent_message JOIN outbox ON outbox.seq = sent_message.delivery
  WHERE sent_message.platform_id = ? AND channel = ? AND account_id = ?`

/** The delivery that has become this message of a conversation. */
export async function getSentMessage(
  tx: Transaction,
  { channel, accountId, recipients }: Conversation,
  platformId: string,
): Promise<StoredDelivery | undefined> {
  const isOne = recipients.map(() => '?').join(', ')
  const sql = `${getSentSql} AND recipient IN (${isOne}) ORDER BY seq DESC LIMIT 1`
  const [row] = await tx.all<DeliveryRow>(sql, platformId, channel, accountId, ...recipients)
  return row && toDelivery(row)
}

/** Clears `uncertain`: the operator wants the delivery sent, whatever happened to the attempt that was lost. */
const retrySql = `
  UPDATE outbox SET status = 'pending', reason = NULL, next_at = ?, attempt = 0, uncertain = 0, attempted_at = NULL,
    ended_at = NULL
  WHERE id = ? AND status IN ('failed', 'unknown')`

/**
 * Returns a delivery that failed, or whose result is unknown, to its position in the lane. Chunks that the platform
 * has confirmed are not sent again.
 * @returns false when the delivery has another status
 */
export async function retryDelivery(
  tx: Transaction,
  id: string,
  at: Timestamp,
  audit?: AuditedChange,
): Promise<boolean> {
  if ((await tx.run(retrySql, at, id)) === 0) return false
  await recordChange(tx, audit, at)
  return true
}

/** Considers only heads of lanes: a delivery that waits behind another one is not due, whatever its own time. */
const nextSql = (except: readonly AccountRef[]) => `
  SELECT next_at AS "nextAt" FROM outbox AS waiting
  WHERE status = 'pending' AND seq = ${headOfLane} AND NOT EXISTS ${sendingInLane}${isNot(except)}
  ORDER BY next_at LIMIT 1`

/** The time when the next pending delivery is due, except those of some accounts; 0: at once. */
export async function getNextDeliveryAt(
  tx: Transaction,
  except: readonly AccountRef[] = [],
): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ nextAt: number }>(nextSql(except), ...valuesOf(except))
  return row?.nextAt
}
