// Gives the idempotency key of a request back when all its runs have failed, so that its sender's next attempt runs.
import type { RunStatus } from '../run-spec.ts'
import type { Transaction } from './transaction.ts'

/** The key of the request that a run came with. */
export interface RunKey {
  keyScope: string | null
  idempotencyKey: string | null
}

interface Reply {
  runId?: string
  runIds?: readonly string[]
  eventIds?: readonly string[]
}

const replySql = 'SELECT reply FROM idempotency WHERE scope = ? AND key = ?'
const statusSql = 'SELECT status FROM run WHERE id = ?'
const releaseSql = 'DELETE FROM idempotency WHERE scope = ? AND key = ?'

/**
 * A request that led to something else, too, keeps its key: done again, that would count twice. That is a run that
 * succeeded or has not ended, or an event. So does one whose runs were all cancelled: somebody did not want them.
 */
export async function releaseKey(tx: Transaction, { keyScope, idempotencyKey }: RunKey, runId: string): Promise<void> {
  const [row] = await tx.all<{ reply: string }>(replySql, keyScope, idempotencyKey)
  if (!row) return
  const reply = JSON.parse(row.reply) as Reply
  const runIds = reply.runIds ?? [reply.runId]
  // The key may have been given back, and taken by another request, before.
  if (!runIds.includes(runId) || reply.eventIds) return
  const statuses: (RunStatus | undefined)[] = []
  for (const id of runIds) statuses.push((await tx.all<{ status: RunStatus }>(statusSql, id ?? ''))[0]?.status)
  const failed = statuses.filter((status) => status === 'failed' || status === 'timed_out').length
  const cancelled = statuses.filter((status) => status === 'cancelled').length
  if (failed > 0 && failed + cancelled === statuses.length) await tx.run(releaseSql, keyScope, idempotencyKey)
}
