// The queue of runs: claims them in the order of their sessions' lanes, renews, releases and recovers their leases, and
// cancels those that are running.
import type { RunResult } from '../run-spec.ts'
import type { Reader, ReadLater, Timestamp, Transaction } from '../transaction.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { nextToken } from './lease.ts'
import { appendAttemptSql, type RunRef, type RunRow, runColumns, stopTimeSql, type StoredRun, toRun } from './run.ts'
import { touchSession } from './session.ts'

export const runQueueWrites = {
  claimRuns,
  advanceRetries,
  renewRun,
  cancelRunningRun,
  releaseRun,
  suspendRun,
  releaseUnheldRuns,
  recoverExpiredRuns,
}
export const runQueueReads = { getNextRetryAt, listOverdueRuns }

const heldColumns = 'seq, session_key AS "sessionKey", agent_id AS "agentId", fencing_token AS "fencingToken"'
const heldSql = `SELECT ${runColumns} FROM run WHERE seq = ?`

/**
 * Claims the head of each session's lane, which is the session's oldest live run: a run that is repeated keeps its
 * position, and a run that ended lets the next one start. A concurrency limit works in the same way for several runs.
 * A run that waits for its retry holds up its session unless it is set aside, and never uses up a concurrency limit. A
 * run that waits for an approval holds up its session as well, except for what people write there.
 * The time limit of a run begins with its first attempt. A deadline beyond it was stored before the clock was set back.
 * MATERIALIZED: a database that takes the table for empty would otherwise search the heads again for each run.
 */
const claimSql = `
  WITH head AS MATERIALIZED (
    SELECT waiting.seq FROM run AS waiting
    WHERE waiting.status = 'queued' AND waiting.not_before IS NULL AND waiting.seq = (
      SELECT live.seq FROM run AS live
      WHERE live.session_key = waiting.session_key AND live.status IN ('queued', 'running') AND live.aside = 0
        AND (live.from_person = 1 OR NOT EXISTS (
          SELECT 1 FROM run AS held
          WHERE held.session_key = live.session_key AND held.status = 'waiting' AND held.seq < live.seq))
      ORDER BY live.session_key, live.seq LIMIT 1)
    AND NOT EXISTS (SELECT 1 FROM run AS busy WHERE busy.session_key = waiting.session_key AND busy.status = 'running')
    AND (waiting.concurrency_key IS NULL OR waiting.seq IN (
      SELECT seq FROM (
        SELECT seq, concurrency_limit, row_number() OVER (
          PARTITION BY concurrency_key ORDER BY CASE status WHEN 'running' THEN 0 ELSE 1 END, seq) AS position
        FROM run
        WHERE concurrency_key IS NOT NULL AND status IN ('queued', 'running') AND not_before IS NULL) AS limited
      WHERE position <= concurrency_limit))
    ORDER BY waiting.seq LIMIT ?)
  UPDATE run SET status = 'running', attempt = attempt + 1, fencing_token = ${nextToken},
    owner = ?, lease_until = ?, started_at = ?,
    deadline = CASE WHEN deadline <= ? + time_left THEN deadline ELSE ? + time_left END
  WHERE seq IN (SELECT seq FROM head)
  RETURNING ${heldColumns}`

/** What is known of a run under the lock of claims. */
interface HeldRow {
  seq: number
  sessionKey: string
  agentId: string
  fencingToken: number
}

/** Reads runs that the caller holds, in their order. */
const readHeld = (rows: readonly HeldRow[]): ReadLater<StoredRun[]> => ({
  readLater: async (tx: Reader) => {
    const inOrder = rows.toSorted((a, b) => a.seq - b.seq)
    const read = inOrder.map(async ({ seq, fencingToken }): Promise<StoredRun[]> => {
      const [row] = await tx.all<RunRow>(heldSql, seq)
      // Another gateway may have recovered it meanwhile, which this holder must not do as well.
      return row ? [{ ...toRun(row), fencingToken }] : []
    })
    return (await Promise.all(read)).flat()
  },
})

const runningSql = `SELECT count(*) AS n FROM run WHERE status = 'running'`

async function countRunning(tx: Transaction): Promise<number> {
  const [row] = await tx.all<{ n: number }>(runningSql)
  return row?.n ?? 0
}

/** No retry waits longer than this. A later time was stored before the clock was set back. */
const maxRetryDelayMs = 7 * 24 * 60 * 60 * 1000

const dueSql = `
  UPDATE run SET not_before = NULL, retry_provider = NULL, aside = 0
  WHERE status = 'queued' AND not_before IS NOT NULL AND waits_for IS NULL AND (not_before <= ? OR not_before > ?)`
const nextRetrySql = `
  SELECT not_before AS "notBefore" FROM run
  WHERE status = 'queued' AND not_before > ? AND waits_for IS NULL ORDER BY not_before LIMIT 1`

/** The time of the first retry after a time. */
export async function getNextRetryAt(tx: Transaction, after: Timestamp): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ notBefore: Timestamp }>(nextRetrySql, after)
  return row?.notBefore
}

const overdueSql = `
  SELECT id FROM run WHERE status = 'queued' AND deadline <= ? ORDER BY deadline LIMIT 100`
const nextDeadlineSql = `
  SELECT deadline FROM run WHERE status = 'queued' AND deadline > ? ORDER BY deadline LIMIT 1`

/** The queued runs that must have ended by now, and when the next one must. */
export async function listOverdueRuns(
  tx: Transaction,
  at: Timestamp,
): Promise<{ ids: string[]; nextAt: Timestamp | undefined }> {
  const overdue = await tx.all<{ id: string }>(overdueSql, at)
  const [next] = await tx.all<{ deadline: Timestamp }>(nextDeadlineSql, at)
  return { ids: overdue.map(({ id }) => id), nextAt: next?.deadline }
}

const waitingSql = `
  SELECT id, result, not_before AS "notBefore" FROM run
  WHERE status = 'queued' AND retry_provider = ? ORDER BY seq LIMIT ?`
// A run is brought forward once after each failure.
const moveSql = 'UPDATE run SET not_before = ?, retry_provider = NULL, result = ? WHERE id = ?'

interface WaitingRow {
  id: string
  result: string
  notBefore: Timestamp
}

/**
 * Brings forward the oldest runs that wait to be retried because of this provider, one for each time, but no run to
 * before its `earliestAt`. Returns their ids.
 */
export async function advanceRetries(
  tx: Transaction,
  provider: string,
  times: readonly Timestamp[],
): Promise<string[]> {
  const rows = await tx.all<WaitingRow>(waitingSql, provider, times.length)
  for (const [index, { id, result, notBefore }] of rows.entries()) {
    const stored = JSON.parse(result) as RunResult
    const { earliestAt = notBefore } = stored.retry ?? {}
    const nextAt = Math.min(notBefore, Math.max(earliestAt, times[index] ?? notBefore))
    const moved = { ...stored, ...(stored.retry && { retry: { ...stored.retry, nextAt } }) }
    await tx.run(moveSql, nextAt, JSON.stringify(moved), id)
  }
  return rows.map(({ id }) => id)
}

interface RunClaim {
  owner: string
  max: number
  /** Claims no more runs than this number leaves, with the running ones of all owners counted. */
  maxRunning?: number | undefined
  at: Timestamp
  leaseMs: number
}

/**
 * Claims queued runs: of each session only the oldest live run, so that a session runs one at a time and in order;
 * of each concurrency limit only the oldest few. Claiming marks a run as running, counts the attempt and increments
 * the fencing token.
 */
export async function claimRuns(
  tx: Transaction,
  { owner, max, maxRunning, at, leaseMs }: RunClaim,
): Promise<ReadLater<StoredRun[]>> {
  await tx.run(dueSql, at, at + maxRetryDelayMs)
  const limit = maxRunning === undefined ? max : Math.min(max, maxRunning - (await countRunning(tx)))
  if (limit <= 0) return readHeld([])
  const claimed = await tx.all<HeldRow>(claimSql, limit, at, at, owner, at + leaseMs, at, at, at)
  for (const run of claimed) await touchSession(tx, run, at)
  return readHeld(claimed)
}

/** Returns a run to the queue after its model failed for a transient reason. */
export interface RunRetry {
  notBefore: Timestamp
  /** The provider whose model failed. Null: the run was not tried, and waits for something else. */
  provider: string | null
  /** True: later runs of its session may start before it. */
  aside: boolean
  result: RunResult
}

const renewSql = `
  UPDATE run SET lease_until = ? WHERE id = ? AND fencing_token = ? AND status = 'running' RETURNING cancelled`

/** @returns `lost` when the caller no longer holds the run and must stop it; `cancelled` when it must stop and end it */
export async function renewRun(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  until: Timestamp,
): Promise<'renewed' | 'cancelled' | 'lost'> {
  const [row] = await tx.all<{ cancelled: number }>(renewSql, until, id, fencingToken)
  if (!row) return 'lost'
  return row.cancelled === 1 ? 'cancelled' : 'renewed'
}

const cancelSql = `UPDATE run SET cancelled = 1 WHERE id = ? AND status = 'running' AND cancelled = 0`
const isCancelledSql = `SELECT 1 FROM run WHERE id = ? AND status = 'running' AND cancelled = 1`

/**
 * Cancels a running run: whichever gateway holds it, or recovers it, stops it and ends it.
 * @returns false when the run is not running
 */
export async function cancelRunningRun(
  tx: Transaction,
  id: string,
  { at, audit }: { at: Timestamp; audit?: AuditedChange | undefined },
): Promise<boolean> {
  if ((await tx.run(cancelSql, id)) === 0) return (await tx.all(isCancelledSql, id)).length > 0
  await recordChange(tx, audit, at)
  return true
}

const releaseSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL, ${appendAttemptSql}
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

const retrySql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL,
    not_before = ?, retry_provider = ?, aside = ?, result = ?, ${appendAttemptSql}
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

/** The run could not be tried, so there was no attempt, and its time limit goes on with the next claim. */
const untriedSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL,
    not_before = ?, aside = ?, result = ?, ${stopTimeSql('started_at')}
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

/**
 * Returns a running run to its position in the queue without counting the attempt: after a clean stop, or to run
 * again at the time of `retry`.
 */
export async function releaseRun(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  at: Timestamp,
  retry?: RunRetry,
): Promise<boolean> {
  if (!retry) return (await tx.run(releaseSql, at, '"stopped"', id, fencingToken)) === 1
  const { notBefore, provider, aside, result } = retry
  if (provider === null)
    return (await tx.run(untriedSql, notBefore, Number(aside), JSON.stringify(result), id, fencingToken)) === 1
  const reason = JSON.stringify(result.error?.message ?? 'failed')
  const values = [notBefore, provider, Number(aside), JSON.stringify(result), at, reason]
  return (await tx.run(retrySql, ...values, id, fencingToken)) === 1
}

/**
 * An answer or a cancellation may have come while other calls of the run were under way. Of several approvals of a call,
 * the last counts.
 */
const suspendSql = `
  UPDATE run SET attempt = attempt - 1, owner = NULL, lease_until = NULL, ${appendAttemptSql}, ${stopTimeSql('?')},
    status = CASE WHEN cancelled = 1 OR EXISTS (
      SELECT 1 FROM approval JOIN step ON step.run_id = approval.run_id AND step.number = approval.step
      WHERE approval.run_id = run.id AND approval.status <> 'waiting' AND step.status = 'waiting'
        AND approval.seq = (
          SELECT max(later.seq) FROM approval AS later
          WHERE later.run_id = approval.run_id AND later.step = approval.step))
    THEN 'queued' ELSE 'waiting' END
  WHERE id = ? AND fencing_token = ? AND status = 'running'
  RETURNING status`

/**
 * Lets a running run wait for its approvals without counting the attempt, or returns it to the queue if one of them is
 * answered or the run is cancelled already.
 * @returns its status, or undefined when the fencing token is stale
 */
export async function suspendRun(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  at: Timestamp,
): Promise<'waiting' | 'queued' | undefined> {
  const [row] = await tx.all<{ status: 'waiting' | 'queued' }>(suspendSql, at, '"waiting"', at, id, fencingToken)
  return row?.status
}

const releaseUnheldSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL
  WHERE status = 'running' AND owner = ?`

/**
 * Releases all runs of an owner except those that it holds. Needed when a claim was committed but its answer was
 * lost.
 * @returns how many
 */
export async function releaseUnheldRuns(tx: Transaction, owner: string, held: readonly string[]): Promise<number> {
  return tx.run(`${releaseUnheldSql}${held.map(() => ' AND id <> ?').join('')}`, owner, ...held)
}

/** The time that a caller has to end what was recovered. After that it is recovered again. */
export const recoveryLeaseMs = 30_000

/** In all, a run has this many times its attempts, however far each of them got. */
const maxAttemptsFactor = 10

const requeueSql = `
  UPDATE run SET status = 'queued', owner = NULL, lease_until = NULL, ${appendAttemptSql}
  WHERE status = 'running' AND lease_until <= ?
    AND attempt - last_progress < max_attempts AND attempt < max_attempts * ${maxAttemptsFactor}`
const exhaustedSql = `
  UPDATE run SET fencing_token = fencing_token + 1, lease_until = ?
  WHERE status = 'running' AND lease_until <= ?
  RETURNING ${heldColumns}`

/**
 * Requeues runs whose lease has expired (`queued`), or returns them as `exhausted` when no attempt is left. Only
 * attempts that completed no step count, up to a limit. The caller has 30 seconds to end the exhausted runs.
 */
export async function recoverExpiredRuns(
  tx: Transaction,
  at: Timestamp,
): Promise<ReadLater<{ queued: number; exhausted: StoredRun[] }>> {
  const queued = await tx.run(requeueSql, at, '"interrupted"', at)
  const exhausted = readHeld(await tx.all<HeldRow>(exhaustedSql, at + recoveryLeaseMs, at))
  return { readLater: async (reader) => ({ queued, exhausted: await exhausted.readLater(reader) }) }
}
