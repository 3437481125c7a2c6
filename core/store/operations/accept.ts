// Accepts one request in one transaction: its log entry, idempotency key, events, runs, deliveries and route.
import type { AcceptResult } from '../store.ts'
import { insertEvents } from './events.ts'
import { claimKey, replayReply } from './idempotency.ts'
import { insertDelivery } from './outbox.ts'
import { type AcceptRecords, type PackedAccept, unpackAccept } from './packed-accept.ts'
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
  const isExclusive = command.idempotency !== undefined || command.firing !== undefined
  return (isExclusive ? await claimAccept(tx, command) : undefined) ?? storeAccept(tx, command)
}

/** Claims what only one command can have. @returns the result if another command has it */
export async function claimAccept(
  tx: Transaction,
  { at, idempotency, firing }: AcceptRecords,
): Promise<AcceptResult | undefined> {
  if (idempotency && !(await claimKey(tx, idempotency, at))) return replayReply(tx, idempotency)
  return firing && !(await advanceSchedule(tx, firing)) ? { outcome: 'conflict' } : undefined
}

/** Gives all statements to the transaction before it waits for the first one: a network is crossed once. */
export async function storeAccept(tx: Transaction, command: AcceptRecords): Promise<AcceptResult> {
  const { at, request, idempotency, events = [], runs = [], route, deliveries = [], state } = command
  const writes: Promise<void>[] = []
  if (request) writes.push(insertRequest(tx, request, command))
  if (events.length > 0) writes.push(insertEvents(tx, events, { at, requestId: request?.id }))
  for (const run of runs) {
    writes.push(insertRun(tx, run, { at, idempotency: run.kind === 'hook' ? idempotency : undefined }))
    // The row of an unnamed session is inserted when its run starts: one write less before the sender gets its answer.
    if (!run.unnamedSession) writes.push(touchSession(tx, { key: run.sessionKey, agentId: run.agentId, updatedAt: at }))
  }
  if (route) {
    writes.push(saveRoute(tx, route, at))
    writes.push(touchSession(tx, { key: route.sessionKey, agentId: route.agentId, updatedAt: at }))
  }
  for (const delivery of deliveries) writes.push(insertDelivery(tx, delivery, at))
  if (state) writes.push(setState(tx, state.owner, state.key, state.value))
  await Promise.all(writes)
  return accepted
}
