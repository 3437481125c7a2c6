// The end of a run: its result, transcript, events and deliveries in one transaction, guarded by its fencing token.
import { finishClaimedEvents, releaseClaimedEvents, insertEvents } from './events.ts'
import { expose } from './exposure.ts'
import { insertDelivery } from './outbox.ts'
import { releaseKey, type RunKey } from './idempotency.ts'
import { appendTranscript, touchSession } from './sessions.ts'
import type { FailureAlert, RunEnd, RunRef, Timestamp } from '../store.ts'
import type { Transaction } from './transaction.ts'

const endedColumns = `session_key AS "sessionKey", agent_id AS "agentId", key_scope AS "keyScope", idempotency_key AS "idempotencyKey"`

const endSql = `
  UPDATE run SET status = ?, result = ?, ended_at = ?, owner = NULL, lease_until = NULL
  WHERE id = ? AND fencing_token = ? AND status = 'running'
  RETURNING ${endedColumns}`
/** The same end once more: it was stored, but whoever stored it had no answer. */
const endedSql = `SELECT 1 FROM run WHERE id = ? AND fencing_token = ? AND ended_at = ?`

interface EndedRow extends RunKey {
  sessionKey: string
  agentId: string
}

export async function endRun(tx: Transaction, { id, fencingToken }: RunRef, end: RunEnd): Promise<boolean> {
  const { at, status, result } = end
  const [run] = await tx.all<EndedRow>(endSql, status, JSON.stringify(result), at, id, fencingToken)
  if (!run) return (await tx.all(endedSql, id, fencingToken, at)).length > 0
  await storeEnd(tx, { id, ...run }, end)
  await touchSession(tx, { key: run.sessionKey, agentId: run.agentId, updatedAt: at }, true)
  return true
}

const cancelSql = `
  UPDATE run SET status = 'cancelled', result = ?, ended_at = ?, not_before = NULL
  WHERE id = ? AND status = 'queued'
  RETURNING ${endedColumns}`

export async function cancelQueuedRun(tx: Transaction, id: string, end: RunEnd): Promise<boolean> {
  const [run] = await tx.all<EndedRow>(cancelSql, JSON.stringify(end.result), end.at, id)
  if (run) await storeEnd(tx, { id, ...run }, end)
  return run !== undefined
}

/** What follows an end. */
async function storeEnd(tx: Transaction, run: EndedRow & { id: string }, end: RunEnd): Promise<void> {
  const { id, sessionKey } = run
  const { at, status, transcript, events, deliveries, eventsRendered } = end
  if (status !== 'succeeded' && run.keyScope !== null) await releaseKey(tx, run, id)
  await (eventsRendered ? finishClaimedEvents(tx, id, at) : releaseClaimedEvents(tx, id))
  // Before the transcript grows: what was said earlier tells whether the session was somebody's.
  if (end.exposes) await expose(tx, sessionKey)
  await appendTranscript(tx, { sessionKey, runId: id, at }, transcript)
  await insertEvents(tx, events, { at, requestId: undefined })
  for (const delivery of deliveries) await insertDelivery(tx, delivery, at)
  if (end.alert && (await isTimely(tx, end.alert, at))) await insertDelivery(tx, end.alert.delivery, at)
}

/** Remembers when somebody was last told of a cause. A time in the future was set before the clock went back. */
const alertSql = `
  INSERT INTO state (owner, key, value) VALUES ('failure-alert', ?, ?)
  ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value
  WHERE CAST(state.value AS BIGINT) <= ? OR CAST(state.value AS BIGINT) > ?`

async function isTimely(tx: Transaction, { cause, quietMs }: FailureAlert, at: Timestamp): Promise<boolean> {
  return (await tx.run(alertSql, cause, JSON.stringify(at), at - quietMs, at)) === 1
}
