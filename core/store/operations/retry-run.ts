// Doing a failed run once more: a run of its own, in the same session, that names the one it repeats.
import type { RunKind, RunResult, RunSpec } from '../run-spec.ts'
import { insertRun } from './runs.ts'
import type { Timestamp } from '../store.ts'
import type { Transaction } from './transaction.ts'

interface FailedRow {
  kind: RunKind
  agentId: string
  sessionKey: string
  spec: string
  message: string
  maxAttempts: number
  result: string
  concurrencyKey: string | null
  concurrencyLimit: number | null
}

const failedSql = `
  SELECT kind, agent_id AS "agentId", session_key AS "sessionKey", spec, message, max_attempts AS "maxAttempts", result,
    concurrency_key AS "concurrencyKey", concurrency_limit AS "concurrencyLimit"
  FROM run WHERE id = ? AND status IN ('failed', 'timed_out')`
/** The result as it was read: of two callers at once only one goes on. */
const markSql = 'UPDATE run SET result = ? WHERE id = ? AND result = ?'

export async function retryRun(tx: Transaction, id: string, retry: { id: string; at: Timestamp }): Promise<boolean> {
  const [row] = await tx.all<FailedRow>(failedSql, id)
  if (!row) return false
  const result = JSON.parse(row.result) as RunResult
  if (result.retriedAs !== undefined) return false
  if ((await tx.run(markSql, JSON.stringify({ ...result, retriedAs: retry.id }), id, row.result)) === 0) return false
  const spec = JSON.stringify({ ...(JSON.parse(row.spec) as Omit<RunSpec, 'message'>), retryOf: id })
  const concurrencyLimit =
    row.concurrencyKey !== null && row.concurrencyLimit !== null
      ? { name: row.concurrencyKey, limit: row.concurrencyLimit }
      : undefined
  await insertRun(tx, { ...row, id: retry.id, spec, concurrencyLimit }, { at: retry.at })
  return true
}
