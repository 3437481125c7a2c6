// The store: its operations, each of which is one atomic transaction and resolves when its changes are on disk.
import type { Commits } from './commits/commits.ts'
import type { OperationArgs, Operations } from './operations.ts'
import type { Replicas } from './replicas.ts'

export type * from './accept.ts'
export type * from './commits/commits.ts'
export type * from './live-counts.ts'
export type * from './purge.ts'
export type { RunStatus } from './run-spec.ts'
export type * from './tables/event.ts'
export type * from './tables/exposure.ts'
export type * from './tables/lease.ts'
export type * from './tables/outbox.ts'
export type * from './tables/page.ts'
export type * from './tables/request.ts'
export type * from './tables/route.ts'
export type * from './tables/run.ts'
export type * from './tables/run-end.ts'
export type * from './tables/run-queue.ts'
export type * from './tables/schedule.ts'
export type * from './tables/session.ts'
export type * from './tables/session-list.ts'
export type * from './tables/step.ts'
export type * from './tables/transcript.ts'
export type { Space, Timestamp } from './transaction.ts'
export { limitCharacters, readText } from './tables/event.ts'
export { stepStatuses } from './tables/step.ts'
export { agentOfKey } from './tables/session-list.ts'

/** The functions of `tables/`, `accept.ts`, `purge.ts` and `live-counts.ts`, without the transaction. */
export type StoreOperations = {
  [Name in keyof Operations]: (...args: OperationArgs<Name>) => ReturnType<Operations[Name]>
}

export interface Store extends StoreOperations {
  close(): Promise<void>
}

/** A store that is being opened. Calls wait until it is open. */
export interface OpeningStore {
  store: Store
  /** Rejects when the store cannot be opened. It must then be closed. */
  opened: Promise<void>
  commits: Commits
  /** Why the store cannot be used at the moment although it is open: a sentence. */
  findFault(): string | undefined
  /** True: other gateways may use the store at the same time. */
  isShared: boolean
  /** The other gateways on the same store. */
  replicas: Replicas
}
