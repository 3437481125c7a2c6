// The outbox: deliveries wait in their recipient's lane, are claimed one at a time, and end exactly once.
import type { Json } from '../../plugin.ts'
import type {
  AccountRef,
  DeliveryFile,
  DeliveryFilter,
  NewDelivery,
  Page,
  PageRequest,
  Store,
  StoredDelivery,
  Timestamp,
} from '../store.ts'
import { insertEvents } from './events.ts'
import { type Condition, listPage, mapPage } from './lists.ts'
import { recoveryLeaseMs } from './run-leases.ts'
import type { Transaction } from '../transaction.ts'

/** A new delivery is due at time 0, because the clock of the gateway that claims it may be behind. */
const insertSql = `
  INSERT INTO outbox (
    id, run_id, channel, account_id, recipient, thread_id, route, text, file, status, reason, next_at, created_at,
    attempt, fencing_token, chunks_sent, uncertain)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, 0, 0, 0)`

export async function insertDelivery(tx: Transaction, delivery: NewDelivery, at: Timestamp): Promise<void> {
  const { id, runId, channel, accountId, to, threadId, text, status, reason } = delivery
  const route = JSON.stringify(delivery.route)
  const file = delivery.file ? JSON.stringify(delivery.file) : null
  await tx.run(insertSql, id, runId, channel, accountId, to, threadId, route, text, file, status, reason, at)
}

interface DeliveryRow extends Omit<StoredDelivery, 'route' | 'file' | 'uncertain'> {
  route: string
  file: string | null
  uncertain: number
}

const columns = `
  seq, id, run_id AS "runId", channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId",
  route, text, file, status, reason, attempt, fencing_token AS "fencingToken", chunks_sent AS "chunksSent", uncertain,
  platform_id AS "platformId", next_at AS "nextAt", created_at AS "createdAt"`

const toDelivery = (row: DeliveryRow): StoredDelivery => ({
  ...row,
  nextAt: row.nextAt === 0 ? row.createdAt : row.nextAt,
  route: JSON.parse(row.route) as Json,
  file: row.file === null ? null : (JSON.parse(row.file) as DeliveryFile),
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

/** MATERIALIZED: as in the claim of runs. */
const claimSql = (except: readonly AccountRef[]) => `
  WITH head AS MATERIALIZED (
    SELECT waiting.seq FROM outbox AS waiting
    WHERE waiting.status = 'pending' AND waiting.next_at <= ? AND waiting.seq = ${headOfLane}
      AND NOT EXISTS ${sendingInLane}${isNot(except)}
    ORDER BY waiting.next_at, waiting.seq LIMIT ?)
  UPDATE outbox SET status = 'sending', attempt = attempt + 1, fencing_token = fencing_token + 1,
    owner = ?, lease_until = ?
  WHERE seq IN (SELECT seq FROM head)
  RETURNING ${columns}`

export async function claimDeliveries(
  tx: Transaction,
  { owner, max, except = [], at, leaseMs }: Parameters<Store['claimDeliveries']>[0],
): Promise<StoredDelivery[]> {
  const values = [at, ...valuesOf(except), max, owner, at + leaseMs]
  return toSortedDeliveries(await tx.all<DeliveryRow>(claimSql(except), ...values))
}

const advanceSql = `
  UPDATE outbox SET chunks_sent = ?, uncertain = 0 WHERE id = ? AND fencing_token = ? AND status = 'sending'`

export async function advanceDelivery(
  tx: Transaction,
  ...[id, fencingToken, chunksSent]: Parameters<Store['advanceDelivery']>
): Promise<boolean> {
  return (await tx.run(advanceSql, chunksSent, id, fencingToken)) === 1
}

const endSql = `
  UPDATE outbox SET status = ?, reason = ?, platform_id = ?, ended_at = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fencing_token = ? AND status = 'sending'`
const retryLaterSql = `
  UPDATE outbox SET status = 'pending', reason = ?, next_at = ?, uncertain = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fencing_token = ? AND status = 'sending'`

export async function endDelivery(
  tx: Transaction,
  ...[id, fencingToken, end, at]: Parameters<Store['endDelivery']>
): Promise<boolean> {
  if (end.status === 'retry')
    return (await tx.run(retryLaterSql, end.reason, end.nextAt, Number(end.uncertain), id, fencingToken)) === 1
  const reason = end.status === 'sent' ? null : end.reason
  const platformId = end.status === 'sent' ? end.platformId : null
  if ((await tx.run(endSql, end.status, reason, platformId, at, id, fencingToken)) === 0) return false
  if (end.status !== 'sent' && end.event) await insertEvents(tx, [end.event], { at, requestId: undefined })
  return true
}

/** An attempt that is under way cannot overwrite the failure, because the delivery is no longer being sent. */
const failSql = `
  UPDATE outbox SET status = 'failed', reason = ?, ended_at = ?, owner = NULL, lease_until = NULL, uncertain = 0,
    chunks_sent = CASE WHEN chunks_sent > ? THEN ? ELSE chunks_sent END
  WHERE id = ? AND attempt > 0 AND status IN ('pending', 'sending', 'sent', 'unknown')`

export async function failDelivery(
  tx: Transaction,
  ...[id, { chunk, reason, event }, at]: Parameters<Store['failDelivery']>
): Promise<boolean> {
  if ((await tx.run(failSql, reason, at, chunk, chunk, id)) === 0) return false
  await insertEvents(tx, [event], { at, requestId: undefined })
  return true
}

const recoverSql = (condition: string) => `
  UPDATE outbox SET fencing_token = fencing_token + 1, lease_until = ?
  WHERE status = 'sending' AND ${condition}
  RETURNING ${columns}`
const recoverExpiredSql = recoverSql('lease_until <= ?')
const takeOverSql = recoverSql('channel = ? AND account_id = ? AND owner <> ?')

export async function recoverExpiredDeliveries(
  tx: Transaction,
  ...[at, takenOver]: Parameters<Store['recoverExpiredDeliveries']>
): Promise<StoredDelivery[]> {
  const until = at + recoveryLeaseMs
  const rows = await tx.all<DeliveryRow>(recoverExpiredSql, until, at)
  if (!takenOver) return toSortedDeliveries(rows)
  const { channel, accountId, owner } = takenOver
  return toSortedDeliveries([...rows, ...(await tx.all<DeliveryRow>(takeOverSql, until, channel, accountId, owner))])
}

const ofRunSql = `SELECT ${columns} FROM outbox WHERE run_id = ? ORDER BY seq`

export async function listRunDeliveries(tx: Transaction, runId: string): Promise<StoredDelivery[]> {
  return (await tx.all<DeliveryRow>(ofRunSql, runId)).map(toDelivery)
}

export async function listDeliveries(
  tx: Transaction,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<StoredDelivery>> {
  const { status, channel } = filter
  const listing = {
    table: 'outbox',
    keys: 'seq, channel',
    where: toCondition(filter),
    matchesKey:
      channel === undefined ? undefined : (key: Pick<DeliveryRow, 'seq' | 'channel'>) => key.channel === channel,
    columns,
    // The status follows the text in its row, so reading it reads the text, too.
    matchesRow: status === undefined ? undefined : (row: DeliveryRow) => row.status === status,
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

/** Clears `uncertain`: the operator wants the delivery sent, whatever happened to the attempt that was lost. */
const retrySql = `
  UPDATE outbox SET status = 'pending', reason = NULL, next_at = ?, attempt = 0, uncertain = 0, ended_at = NULL
  WHERE id = ? AND status IN ('failed', 'unknown')`

export async function retryDelivery(tx: Transaction, id: string, at: Timestamp): Promise<boolean> {
  return (await tx.run(retrySql, at, id)) === 1
}

/** Considers only heads of lanes: a delivery that waits behind another one is not due, whatever its own time. */
const nextSql = (except: readonly AccountRef[]) => `
  SELECT next_at AS "nextAt" FROM outbox AS waiting
  WHERE status = 'pending' AND seq = ${headOfLane} AND NOT EXISTS ${sendingInLane}${isNot(except)}
  ORDER BY next_at LIMIT 1`

export async function getNextDeliveryAt(
  tx: Transaction,
  except: readonly AccountRef[] = [],
): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ nextAt: number }>(nextSql(except), ...valuesOf(except))
  return row?.nextAt
}
