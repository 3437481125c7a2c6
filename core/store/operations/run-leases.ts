// Run leases: renews and releases them, and recovers runs whose lease has expired.
import type { RunRef, RunRetry, StoredRun, Timestamp } from '../store.ts'
import { toSortedRuns } from './run-claims.ts'
import { type RunRow, runColumns } from './runs.ts'
import type { Transaction } from '../transaction.ts'

const renewSql = `UPDATE run SET lease_until = ? WHERE id = ? AND fencing_token = ? AND status = 'running'`

export async function renewRun(tx: Transaction, { id, fencingToken }: RunRef, until: Timestamp): Promise<boolean> {
  return (await tx.run(renewSql, until, id, fencingToken)) === 1
}

const releaseSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

const retrySql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL,
    not_before = ?, retry_provider = ?, aside = ?, result = ?
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

export async function releaseRun(tx: Transaction, { id, fencingToken }: RunRef, retry?: RunRetry): Promise<boolean> {
  if (!retry) return (await tx.run(releaseSql, id, fencingToken)) === 1
  const { notBefore, provider, aside, result } = retry
  const values = [notBefore, provider, Number(aside), JSON.stringify(result)]
  return (await tx.run(retrySql, ...values, id, fencingToken)) === 1
}

const releaseUnheldSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL
  WHERE status = 'running' AND owner = ?`

export async function releaseUnheldRuns(tx: Transaction, owner: string, held: readonly string[]): Promise<number> {
  return tx.run(`${releaseUnheldSql}${held.map(() => ' AND id <> ?').join('')}`, owner, ...held)
}

/** The time that a caller has to end what was recovered. After that it is recovered again. */
export const recoveryLeaseMs = 30_000

const requeueSql = `
  UPDATE run SET status = 'queued', owner = NULL, lease_until = NULL
  WHERE status = 'running' AND lease_until <= ? AND attempt < max_attempts`
const exhaustedSql = `
  UPDATE run SET fencing_token = fencing_token + 1, lease_until = ?
  WHERE status = 'running' AND lease_until <= ?
  RETURNING ${runColumns}`

export async function recoverExpiredRuns(
  tx: Transaction,
  at: Timestamp,
): Promise<{ queued: number; exhausted: StoredRun[] }> {
  const queued = await tx.run(requeueSql, at)
  return { queued, exhausted: toSortedRuns(await tx.all<RunRow>(exhaustedSql, at + recoveryLeaseMs, at)) }
}
