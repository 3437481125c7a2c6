// Idempotency keys: a request claims its key, a second request with the same key gets the first one's reply, and a key
// whose runs have all failed is released.
import type { RunStatus } from '../run-spec.ts'
import type { AcceptCommand, AcceptResult, Timestamp } from '../store.ts'
import type { Transaction } from '../transaction.ts'

type Idempotency = NonNullable<AcceptCommand['idempotency']>

/** An expired key counts as unused, whether or not it has been purged. */
const claimSql = `
  INSERT INTO idempotency (scope, key, body_hash, expires_at, reply) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (scope, key) DO UPDATE SET
    body_hash = excluded.body_hash, expires_at = excluded.expires_at, reply = excluded.reply
  WHERE idempotency.expires_at <= ?`
const claimLatestSql = `${claimSql} OR idempotency.body_hash <> excluded.body_hash`

/** @returns false when the key is in use */
export async function claimKey(
  tx: Transaction,
  { scope, key, bodyHash, latestOnly, expiresAt, reply }: Idempotency,
  at: Timestamp,
): Promise<boolean> {
  return (await tx.run(latestOnly ? claimLatestSql : claimSql, scope, key, bodyHash, expiresAt, reply, at)) === 1
}

const hasSql = 'SELECT 1 FROM idempotency WHERE scope = ? AND key = ? AND expires_at > ?'

export async function hasKey(
  tx: Transaction,
  { scope, key }: Pick<Idempotency, 'scope' | 'key'>,
  at: Timestamp,
): Promise<boolean> {
  return (await tx.all(hasSql, scope, key, at)).length > 0
}

export async function replayReply(tx: Transaction, { scope, key, bodyHash }: Idempotency): Promise<AcceptResult> {
  const [first] = await tx.all<{ bodyHash: string; reply: string }>(
    'SELECT body_hash AS "bodyHash", reply FROM idempotency WHERE scope = ? AND key = ?',
    scope,
    key,
  )
  return first?.bodyHash === bodyHash ? { outcome: 'replayed', reply: first.reply } : { outcome: 'conflict' }
}

/** The most rows that one `purgeExpiredKeys` deletes, so that purging a day's keys does not delay new requests. */
export const maxPurgedKeys = 1000

const purgeSql = `
  WITH expired AS MATERIALIZED (
    SELECT scope, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
  DELETE FROM idempotency WHERE (scope, key) IN (SELECT scope, key FROM expired)`

export async function purgeExpiredKeys(tx: Transaction, at: Timestamp): Promise<number> {
  return tx.run(purgeSql, at, maxPurgedKeys)
}

/** The key of the request that started a run. */
export interface RunKey {
  keyScope: string | null
  idempotencyKey: string | null
}

interface FirstReply {
  runId?: string
  runIds?: readonly string[]
  eventIds?: readonly string[]
}

const replySql = 'SELECT reply FROM idempotency WHERE scope = ? AND key = ?'
const statusSql = 'SELECT status FROM run WHERE id = ?'
const releaseSql = 'DELETE FROM idempotency WHERE scope = ? AND key = ?'

/**
 * Releases the key of a failed run, so that the sender's next attempt is accepted again. A request keeps its key if it
 * also created an event or a run that succeeded or is still live, because a repeat would create those twice. It also
 * keeps its key if all its runs were cancelled, because somebody decided against them.
 */
export async function releaseKey(tx: Transaction, { keyScope, idempotencyKey }: RunKey, runId: string): Promise<void> {
  const [row] = await tx.all<{ reply: string }>(replySql, keyScope, idempotencyKey)
  if (!row) return
  const reply = JSON.parse(row.reply) as FirstReply
  const runIds = reply.runIds ?? [reply.runId]
  // The key may have been released and claimed by another request since.
  if (!runIds.includes(runId) || reply.eventIds) return
  const statuses: (RunStatus | undefined)[] = []
  for (const id of runIds) statuses.push((await tx.all<{ status: RunStatus }>(statusSql, id ?? ''))[0]?.status)
  const failed = statuses.filter((status) => status === 'failed' || status === 'timed_out').length
  const cancelled = statuses.filter((status) => status === 'cancelled').length
  if (failed > 0 && failed + cancelled === statuses.length) await tx.run(releaseSql, keyScope, idempotencyKey)
}
