// All operations of the store. Each file of a table lists its own; every engine performs them inside one transaction.
import { acceptWrites } from './accept.ts'
import { liveCountReads } from './live-counts.ts'
import { probeWrites } from './probe.ts'
import { purgeReads, purgeWrites } from './purge.ts'
import { budgetReads, budgetWrites } from './tables/budget.ts'
import { budgetAlertWrites } from './tables/budget-alert.ts'
import { approvalReads, approvalWrites } from './tables/approval.ts'
import { auditReads, auditWrites } from './tables/audit.ts'
import { clockWrites } from './tables/clock.ts'
import { eventReads, eventWrites } from './tables/event.ts'
import { exposureReads, exposureWrites } from './tables/exposure.ts'
import { idempotencyReads, idempotencyWrites } from './tables/idempotency.ts'
import { leaseWrites } from './tables/lease.ts'
import { outboxReads, outboxWrites } from './tables/outbox.ts'
import { requestReads, requestWrites } from './tables/request.ts'
import { routeReads } from './tables/route.ts'
import { runReads, runWrites } from './tables/run.ts'
import { runEndWrites } from './tables/run-end.ts'
import { runQueueReads, runQueueWrites } from './tables/run-queue.ts'
import { runTreeReads } from './tables/run-tree.ts'
import { scheduleReads, scheduleWrites } from './tables/schedule.ts'
import { sessionReads, sessionWrites } from './tables/session.ts'
import { sessionListReads } from './tables/session-list.ts'
import { stateReads, stateWrites } from './tables/state.ts'
import { stepReads, stepWrites } from './tables/step.ts'
import { waitingRunReads, waitingRunWrites } from './tables/waiting-run.ts'
import { usageReads, usageWrites } from './tables/usage.ts'
import { isReadLater, type ReadLater, type Reader, type Transaction } from './transaction.ts'

const writes = {
  ...acceptWrites,
  ...budgetWrites,
  ...budgetAlertWrites,
  ...auditWrites,
  ...purgeWrites,
  ...approvalWrites,
  ...clockWrites,
  ...eventWrites,
  ...exposureWrites,
  ...idempotencyWrites,
  ...leaseWrites,
  ...outboxWrites,
  ...probeWrites,
  ...requestWrites,
  ...runWrites,
  ...runEndWrites,
  ...runQueueWrites,
  ...scheduleWrites,
  ...sessionWrites,
  ...stateWrites,
  ...stepWrites,
  ...usageWrites,
  ...waitingRunWrites,
}

const reads = {
  ...liveCountReads,
  ...budgetReads,
  ...approvalReads,
  ...auditReads,
  ...eventReads,
  ...exposureReads,
  ...idempotencyReads,
  ...outboxReads,
  ...requestReads,
  ...routeReads,
  ...runReads,
  ...runTreeReads,
  ...runQueueReads,
  ...scheduleReads,
  ...sessionReads,
  ...sessionListReads,
  ...purgeReads,
  ...stateReads,
  ...stepReads,
  ...usageReads,
  ...waitingRunReads,
}

export const operations = { ...writes, ...reads }

export type Operations = typeof operations
export type OperationName = keyof Operations

/** What a caller gives to an operation: all arguments but the transaction. */
export type OperationArgs<Name extends OperationName> = Operations[Name] extends (
  tx: Transaction,
  ...args: infer Args
) => unknown
  ? Args
  : never

/** What an operation returns to its caller. */
export type OperationResult<Name extends OperationName> =
  Awaited<ReturnType<Operations[Name]>> extends ReadLater<infer Result> ? Result : Awaited<ReturnType<Operations[Name]>>

/** A call of an operation, as it is sent to the store's thread. */
export type StoreCall = { [Name in OperationName]: readonly [name: Name, args: OperationArgs<Name>] }[OperationName]

export const isWrite = ([name]: StoreCall): boolean => name in writes

/** Performs a call. What it reads later is left to `readResult`. */
export const write = (tx: Transaction, [name, args]: StoreCall): Promise<unknown> =>
  (operations[name] as (tx: Transaction, ...args: readonly unknown[]) => Promise<unknown>)(tx, ...args)

export const readResult = async (tx: Reader, written: unknown): Promise<unknown> =>
  isReadLater(written) ? await written.readLater(tx) : written

export const perform = async (tx: Transaction, call: StoreCall): Promise<unknown> =>
  await readResult(tx, await write(tx, call))
