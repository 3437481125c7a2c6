// All operations of the store by name. Every engine performs them, each inside one transaction.
import { accept } from './accept.ts'
import { hasKey, purgeExpiredKeys } from './idempotency.ts'
import { getRequest, listRequests, recordRefusal } from './requests.ts'
import {
  countWaitingEvents,
  listSessionsWithWakes,
  claimEvents,
  listRenderedEvents,
  listWaitingEvents,
  listWaitingWakes,
} from './events.ts'
import { getExposure, useEffects } from './exposure.ts'
import { purgeBodies, purge } from './purge.ts'
import { expireLeases, acquireLease, releaseLease } from './leases.ts'
import { getLiveCounts } from './live-counts.ts'
import type { PackedAccept } from './packed-accept.ts'
import {
  advanceDelivery,
  claimDeliveries,
  endDelivery,
  failDelivery,
  getDelivery,
  listDeliveries,
  listRunDeliveries,
  getNextDeliveryAt,
  recoverExpiredDeliveries,
  retryDelivery,
} from './outbox.ts'
import { cancelQueuedRun, endRun } from './run-end.ts'
import { advanceRetries, claimRuns, getNextRetryAt } from './run-claims.ts'
import { recoverExpiredRuns, releaseRun, releaseUnheldRuns, renewRun } from './run-leases.ts'
import { countQueuedRuns, getRun, listRuns, retryRun } from './runs.ts'
import {
  addSchedule,
  listDueSchedules,
  listAgentSchedules,
  moveSchedule,
  getNextScheduleAt,
  removeSchedule,
  listSchedules,
} from './schedules.ts'
import { listSessions } from './session-list.ts'
import { getSession, getLastRoute, getSessionCounts, listTranscript } from './sessions.ts'
import { deleteState, getState, probe, setState } from './state.ts'
import type { Store } from '../store.ts'
import type { Transaction } from '../transaction.ts'

export type OperationName = Exclude<keyof Store, 'close'>

type Operations = {
  readonly [Name in Exclude<OperationName, 'accept'>]: (
    tx: Transaction,
    ...args: Parameters<Store[Name]>
  ) => ReturnType<Store[Name]>
} & { readonly accept: (tx: Transaction, command: PackedAccept) => ReturnType<Store['accept']> }

export const writes = {
  accept,
  recordRefusal,
  claimRuns,
  renewRun,
  endRun,
  releaseRun,
  releaseUnheldRuns,
  advanceRetries,
  recoverExpiredRuns,
  cancelQueuedRun,
  retryRun,
  claimEvents,
  claimDeliveries,
  advanceDelivery,
  endDelivery,
  failDelivery,
  recoverExpiredDeliveries,
  retryDelivery,
  useEffects,
  addSchedule,
  removeSchedule,
  moveSchedule,
  setState,
  deleteState,
  acquireLease,
  releaseLease,
  expireLeases,
  purgeExpiredKeys,
  purge,
  purgeBodies,
  reclaimSpace: async (tx: Transaction, bytes: number) => tx.reclaimSpace(bytes),
  probe,
} satisfies Partial<Operations>

const reads = {
  listRequests,
  getRequest,
  getRun,
  listRuns,
  countQueuedRuns,
  getNextRetryAt,
  listRenderedEvents,
  listWaitingEvents,
  countWaitingEvents,
  listSessionsWithWakes,
  listWaitingWakes,
  listTranscript,
  getSession,
  listSessions,
  getSessionCounts,
  getLastRoute,
  listRunDeliveries,
  listDeliveries,
  getDelivery,
  getNextDeliveryAt,
  getExposure,
  listAgentSchedules,
  listSchedules,
  listDueSchedules,
  getNextScheduleAt,
  getLiveCounts,
  getSpace: async (tx: Transaction) => tx.getSpace(),
  hasKey,
  getState,
} satisfies Partial<Operations>

export const operations: Operations = { ...writes, ...reads }

export const isWrite = ([name]: StoreCall): boolean => name in writes

/** A call of an operation, as it is sent to the store's thread. */
export type StoreCall = readonly [name: OperationName, args: readonly unknown[]]

export const perform = (tx: Transaction, [name, args]: StoreCall): Promise<unknown> =>
  (operations[name] as (tx: Transaction, ...args: readonly unknown[]) => Promise<unknown>)(tx, ...args)
