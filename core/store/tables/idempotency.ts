// Idempotency keys: a request claims its key, a second request with the same key gets the first one's reply, and a key
// whose runs have all failed is released.
import type { RunStatus } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'

export const idempotencyWrites = { purgeExpiredKeys }
export const idempotencyReads = { hasKey }

/** The key of a request, and the reply that a repeated request gets. */
export interface IdempotencyKey {
  scope: string
  key: string
  bodyHash: string
  /** True: a request with another body takes over the key, so that only the latest one counts. */
  latestOnly?: boolean | undefined
  expiresAt: Timestamp
  reply: string
}

/** An expired key counts as unused, whether or not it has been purged. */
const keyInsertion: Insertion = {
  table: 'idempotency',
  columns: { scope: 'text', key: 'text', body_hash: 'text', expires_at: 'integer', reply: 'text' },
  onConflict: `
    ON CONFLICT (scope, key) DO UPDATE SET
      body_hash = excluded.body_hash, expires_at = excluded.expires_at, reply = excluded.reply
    WHERE idempotency.expires_at <= ?`,
  returning: 'scope, key',
}

const latestKeyInsertion: Insertion = {
  ...keyInsertion,
  onConflict: `${keyInsertion.onConflict} OR idempotency.body_hash <> excluded.body_hash`,
}

/** Claims a key of `latestOnly`. @returns false if the latest request with this key had the same body */
export async function claimLatestKey(tx: Transaction, key: IdempotencyKey, at: Timestamp): Promise<boolean> {
  return (await tx.insert(latestKeyInsertion, [toKeyRow(key)], at)).length > 0
}

/** Claims keys, each of which only its first request gets. @returns those that were not in use */
export async function claimKeys(
  tx: Transaction,
  keys: readonly IdempotencyKey[],
  at: Timestamp,
): Promise<ReadonlySet<IdempotencyKey>> {
  const first = new Map<string, IdempotencyKey>()
  for (const key of keys) if (!first.has(nameOf(key))) first.set(nameOf(key), key)
  const rows = Array.from(first.values(), toKeyRow)
  const claimed = await tx.insert<KeyName>(keyInsertion, rows, at)
  return new Set(claimed.flatMap((row) => first.get(nameOf(row)) ?? []))
}

const toKeyRow = ({ scope, key, bodyHash, expiresAt, reply }: IdempotencyKey): Row => [
  scope,
  key,
  bodyHash,
  expiresAt,
  reply,
]

type KeyName = Pick<IdempotencyKey, 'scope' | 'key'>

const nameOf = ({ scope, key }: KeyName): string => JSON.stringify([scope, key])

const hasSql = 'SELECT 1 FROM idempotency WHERE scope = ? AND key = ? AND expires_at > ?'

/** Whether a request or message with this key was accepted before. */
export async function hasKey(tx: Transaction, { scope, key }: KeyName, at: Timestamp): Promise<boolean> {
  return (await tx.all(hasSql, scope, key, at)).length > 0
}

export type Replay =
  /** The key was used with the same body. `reply` is the first request's reply. */
  | { outcome: 'replayed'; reply: string }
  /** The key was used with another body. */
  | { outcome: 'conflict' }

export async function replayReply(tx: Transaction, { scope, key, bodyHash }: IdempotencyKey): Promise<Replay> {
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

/** Deletes expired idempotency keys. @returns how many */
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
// Another request may take over the key at the same time.
const releaseSql = 'DELETE FROM idempotency WHERE scope = ? AND key = ? AND reply = ?'

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
  if (failed > 0 && failed + cancelled === statuses.length)
    await tx.run(releaseSql, keyScope, idempotencyKey, row.reply)
}
