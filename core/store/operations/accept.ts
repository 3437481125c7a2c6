// Accepts one request in one transaction: its log entry, idempotency key, events, runs, deliveries and route.
import type { AcceptResult } from '../store.ts'
import { insertEvents } from './events.ts'
import { claimKey, replayReply } from './idempotency.ts'
import { insertDelivery } from './outbox.ts'
import { type PackedAccept, unpackAccept } from './packed-accept.ts'
import { insertRequest } from './requests.ts'
import { insertRun } from './runs.ts'
import { advanceSchedule } from './schedules.ts'
import { saveRoute, touchSession } from './sessions.ts'
import { setState } from './state.ts'
import type { Transaction } from '../transaction.ts'

/** One object for all calls: it is cloned once per commit on its way to the main thread. */
const accepted: AcceptResult = { outcome: 'accepted' }

export async function accept(tx: Transaction, packed: PackedAccept): Promise<AcceptResult> {
  const command = unpackAccept(packed)
  const { at, request, idempotency, events = [], runs = [], route, deliveries = [], state, firing } = command
  if (idempotency && !(await claimKey(tx, idempotency, at))) return replayReply(tx, idempotency)
  if (firing && !(await advanceSchedule(tx, firing))) return { outcome: 'conflict' }
  if (request) await insertRequest(tx, request, command)
  await insertEvents(tx, events, { at, requestId: request?.id })
  for (const run of runs) {
    await insertRun(tx, run, { at, idempotency: run.kind === 'hook' ? idempotency : undefined })
    // The row of an unnamed session is inserted when its run starts: one write less before the sender gets its answer.
    if (!run.unnamedSession) await touchSession(tx, { key: run.sessionKey, agentId: run.agentId, updatedAt: at })
  }
  if (route) {
    await saveRoute(tx, route, at)
    await touchSession(tx, { key: route.sessionKey, agentId: route.agentId, updatedAt: at })
  }
  for (const delivery of deliveries) await insertDelivery(tx, delivery, at)
  if (state) await setState(tx, state.owner, state.key, state.value)
  return accepted
}
