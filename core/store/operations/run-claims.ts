// Claims queued runs in the order of their sessions' lanes, and those whose retry is due. Brings retries forward.
import type { RunResult } from '../run-spec.ts'
import type { Store, StoredRun, Timestamp } from '../store.ts'
import type { Transaction } from '../transaction.ts'
import { type RunRow, runColumns, toRun } from './runs.ts'
import { touchSession } from './sessions.ts'

/**
 * Claims the head of each session's lane, which is the session's oldest live run: a run that is repeated keeps its
 * position, and a run that ended lets the next one start. A concurrency limit works in the same way for several runs.
 * A run that waits for its retry holds up its session unless it is set aside, and never uses up a concurrency limit.
 * MATERIALIZED: a database that takes the table for empty would otherwise search the heads again for each run.
 */
const claimSql = `
  WITH head AS MATERIALIZED (
    SELECT waiting.seq FROM run AS waiting
    WHERE waiting.status = 'queued' AND waiting.not_before IS NULL AND waiting.seq = (
      SELECT live.seq FROM run AS live
      WHERE live.session_key = waiting.session_key AND live.status IN ('queued', 'running') AND live.aside = 0
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
  UPDATE run SET status = 'running', attempt = attempt + 1, fencing_token = fencing_token + 1,
    owner = ?, lease_until = ?, started_at = ?
  WHERE seq IN (SELECT seq FROM head)
  RETURNING ${runColumns}`

const runningSql = `SELECT count(*) AS n FROM run WHERE status = 'running'`

async function countRunning(tx: Transaction): Promise<number> {
  const [row] = await tx.all<{ n: number }>(runningSql)
  return row?.n ?? 0
}

/** No retry waits longer than this. A later time was stored before the clock was set back. */
const maxRetryDelayMs = 7 * 24 * 60 * 60 * 1000

const dueSql = `
  UPDATE run SET not_before = NULL, retry_provider = NULL, aside = 0
  WHERE status = 'queued' AND not_before IS NOT NULL AND (not_before <= ? OR not_before > ?)`
const nextRetrySql = `
  SELECT not_before AS "notBefore" FROM run
  WHERE status = 'queued' AND not_before > ? ORDER BY not_before LIMIT 1`

export async function getNextRetryAt(tx: Transaction, after: Timestamp): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ notBefore: Timestamp }>(nextRetrySql, after)
  return row?.notBefore
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

export async function claimRuns(
  tx: Transaction,
  { owner, max, maxRunning, at, leaseMs }: Parameters<Store['claimRuns']>[0],
): Promise<StoredRun[]> {
  await tx.run(dueSql, at, at + maxRetryDelayMs)
  const limit = maxRunning === undefined ? max : Math.min(max, maxRunning - (await countRunning(tx)))
  if (limit <= 0) return []
  const claimed = toSortedRuns(await tx.all<RunRow>(claimSql, limit, owner, at + leaseMs, at))
  for (const { sessionKey, agentId } of claimed)
    await touchSession(tx, { key: sessionKey, agentId, updatedAt: at }, true)
  return claimed
}

/** RETURNING does not guarantee an order. */
export const toSortedRuns = (rows: RunRow[]) => rows.sort((a, b) => a.seq - b.seq).map(toRun)
