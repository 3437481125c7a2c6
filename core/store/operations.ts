// The table of operations: everything that a store does, once for every engine, each inside one transaction.
import { accept, forgetExpired } from './accept.ts'
import { countWaitingEvents, sessionsWithBells, takeEvents, waitingEvents } from './events.ts'
import { expireLeases, lease, releaseLease } from './leases.ts'
import { advanceMessage, claimMessages, endMessage, messagesOfRun, nextMessageAt, reapMessages } from './outbox.ts'
import { endRun } from './run-end.ts'
import { claimRuns, reapRuns, releaseRun, renewRun } from './run-leases.ts'
import { cancelQueuedRun, countQueuedRuns, getRun } from './runs.ts'
import { getSession, lastRoute, listSessions, sessionCounts, transcript } from './sessions.ts'
import { deleteState, getState, probe, setState } from './state.ts'
import type { Store } from './store.ts'
import type { Transaction } from './transaction.ts'

export type OperationName = Exclude<keyof Store, 'close'>

type Operations = { readonly [Name in OperationName]: (tx: Transaction, ...args: Parameters<Store[Name]>) => ReturnType<Store[Name]> }

export const writes = {
  accept,
  claimRuns,
  renewRun,
  endRun,
  releaseRun,
  reapRuns,
  cancelQueuedRun,
  takeEvents,
  claimMessages,
  advanceMessage,
  endMessage,
  reapMessages,
  setState,
  deleteState,
  lease,
  releaseLease,
  expireLeases,
  forgetExpired,
  probe,
} satisfies Partial<Operations>

const reads = {
  getRun,
  countQueuedRuns,
  waitingEvents,
  countWaitingEvents,
  sessionsWithBells,
  transcript,
  getSession,
  listSessions,
  sessionCounts,
  lastRoute,
  messagesOfRun,
  nextMessageAt,
  getState,
} satisfies Partial<Operations>

export const operations: Operations = { ...writes, ...reads }

export const isWrite = (name: OperationName): boolean => name in writes

/** One call, as it travels: the operation and its arguments. */
export type Call = readonly [name: OperationName, args: readonly unknown[]]

export const perform = (tx: Transaction, [name, args]: Call): Promise<unknown> =>
  (operations[name] as (tx: Transaction, ...args: readonly unknown[]) => Promise<unknown>)(tx, ...args)
