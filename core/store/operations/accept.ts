// Accepting: the log line, the idempotency key, events, runs, deliveries and the route of one request, all or nothing.
import { insertRequest } from './requests.ts'
import { insertEvents } from './events.ts'
import { insertDelivery } from './outbox.ts'
import { insertRun } from './runs.ts'
import { advanceSchedule } from './schedules.ts'
import { keepRoute, touchSession } from './sessions.ts'
import type { AcceptCommand, AcceptResult, Timestamp } from '../store.ts'
import type { Transaction } from './transaction.ts'

type Idempotency = NonNullable<AcceptCommand['idempotency']>

/** One object for all: cloned once per batch when results go to another thread. */
const accepted: AcceptResult = { outcome: 'accepted' }

export async function accept(tx: Transaction, command: AcceptCommand): Promise<AcceptResult> {
  const { at, request, idempotency, events, runs, route, deliveries, firing } = command
  if (idempotency && !(await claimKey(tx, idempotency, at))) return replay(tx, idempotency)
  if (firing && !(await advanceSchedule(tx, firing))) return { outcome: 'conflict' }
  if (request) await insertRequest(tx, request, command)
  if (events) await insertEvents(tx, events, { at, requestId: request?.id })
  for (const run of runs ?? []) {
    await insertRun(tx, run, { at, idempotency: run.kind === 'hook' ? idempotency : undefined })
    // A session that was made for this run alone begins when the run does.
    if (!run.unnamedSession) await touchSession(tx, { key: run.sessionKey, agentId: run.agentId, updatedAt: at })
  }
  if (route) {
    await keepRoute(tx, route, at)
    await touchSession(tx, { key: route.sessionKey, agentId: route.agentId, updatedAt: at })
  }
  for (const delivery of deliveries ?? []) await insertDelivery(tx, delivery, at)
  return accepted
}

/** A key whose time is over counts as never used, whether or not it has been forgotten yet. */
const claimKeySql = `
  INSERT INTO idempotency (scope, key, body_hash, expires_at, reply) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (scope, key) DO UPDATE SET body_hash = excluded.body_hash, expires_at = excluded.expires_at, reply = excluded.reply
  WHERE idempotency.expires_at <= ?`

async function claimKey(
  tx: Transaction,
  { scope, key, bodyHash, expiresAt, reply }: Idempotency,
  at: Timestamp,
): Promise<boolean> {
  return (await tx.run(claimKeySql, scope, key, bodyHash, expiresAt, reply, at)) === 1
}

async function replay(tx: Transaction, { scope, key, bodyHash }: Idempotency): Promise<AcceptResult> {
  const [first] = await tx.all<{ bodyHash: string; reply: string }>(
    'SELECT body_hash AS "bodyHash", reply FROM idempotency WHERE scope = ? AND key = ?',
    scope,
    key,
  )
  return first?.bodyHash === bodyHash ? { outcome: 'replayed', reply: first.reply } : { outcome: 'conflict' }
}

/** Rows that one `purgeExpiredKeys` deletes: a day's keys must not hold up the requests of the moment. */
export const purgedAtOnce = 1000

const purgeSql =
  'DELETE FROM idempotency WHERE (scope, key) IN (SELECT scope, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)'

export async function purgeExpiredKeys(tx: Transaction, at: Timestamp): Promise<number> {
  return tx.run(purgeSql, at, purgedAtOnce)
}
