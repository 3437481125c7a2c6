// Runs as rows: put into the queue, read, counted, cancelled while they wait.
import { giveBackTaken } from './events.ts'
import type { RunResult, RunSpec } from './run-spec.ts'
import type { NewRun, StoredRun, Timestamp } from './store.ts'
import type { Transaction } from './transaction.ts'

const insertSql = `
  INSERT INTO run (id, kind, agent_id, session_key, spec, max_attempts, created_at, status, attempt, fence, result)
  VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, '{}')`

export async function insertRun(tx: Transaction, run: NewRun, at: Timestamp): Promise<void> {
  await tx.run(insertSql, run.id, run.kind, run.agentId, run.sessionKey, JSON.stringify(run.spec), run.maxAttempts, at)
}

export interface RunRow extends Omit<StoredRun, 'spec' | 'result'> {
  spec: string
  result: string
}

export const runColumns = `seq, id, kind, agent_id AS "agentId", session_key AS "sessionKey", spec, max_attempts AS "maxAttempts",
  status, attempt, fence, result, created_at AS "createdAt", started_at AS "startedAt", ended_at AS "endedAt"`

export function toRun(row: RunRow): StoredRun {
  return { ...row, spec: JSON.parse(row.spec) as RunSpec, result: JSON.parse(row.result) as RunResult }
}

const getSql = `SELECT ${runColumns} FROM run WHERE id = ?`

export async function getRun(tx: Transaction, id: string): Promise<StoredRun | undefined> {
  const [row] = await tx.all<RunRow>(getSql, id)
  return row && toRun(row)
}

const countSql = `SELECT count(*) AS n FROM run WHERE status = 'queued'`

export async function countQueuedRuns(tx: Transaction): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql)
  return row?.n ?? 0
}

const cancelSql = `UPDATE run SET status = 'cancelled', ended_at = ? WHERE id = ? AND status = 'queued'`

export async function cancelQueuedRun(tx: Transaction, id: string, at: Timestamp): Promise<boolean> {
  if ((await tx.run(cancelSql, at, id)) === 0) return false
  await giveBackTaken(tx, id)
  return true
}
