// The store: its operations, each of which is one atomic transaction and resolves when its changes are on disk.
import type { AcceptCommand } from './accept.ts'
import type { Commits } from './commits/commits.ts'
import type { GroupCommit } from './group-commit.ts'
import {
  type OperationArgs,
  type OperationName,
  type OperationResult,
  type Operations,
  operations,
  type StoreCall,
} from './operations.ts'
import type { Replicas } from './replicas.ts'
import { maxPurgedKeys } from './tables/idempotency.ts'

import type { Timestamp } from './transaction.ts'

export type * from './accept.ts'
export type * from './commits/commits.ts'
export type * from './live-counts.ts'
export type * from './purge.ts'
export type { RunStatus } from './run-spec.ts'
export type * from './tables/budget.ts'
export type * from './tables/budget-alert.ts'
export type * from './tables/approval.ts'
export type * from './tables/audit.ts'
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
export type * from './tables/run-tree.ts'
export type * from './tables/schedule.ts'
export type * from './tables/session.ts'
export type * from './tables/session-list.ts'
export type * from './tables/step.ts'
export type * from './tables/usage.ts'
export type * from './tables/waiting-run.ts'
export type { Space, Timestamp } from './transaction.ts'
export { approvalStatuses, parseArgs } from './tables/approval.ts'
export { actorKinds, auditOutcomes, auditVias } from './tables/audit.ts'
export { limitCharacters, readText } from './tables/event.ts'
export { budgetScopes, budgetScopesOf, rootOf } from './tables/budget.ts'
export { stepStatuses, sumUsageOfSteps } from './tables/step.ts'
export { agentOfKey } from './tables/session-list.ts'

/** The functions that `operations.ts` lists, without the transaction. */
export type StoreOperations = {
  [Name in Exclude<keyof Operations, 'acceptRows'>]: (...args: OperationArgs<Name>) => Promise<OperationResult<Name>>
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
  /** The time of the store, which all gateways on it share. */
  now(): Timestamp
  /** Why the store cannot be used at the moment although it is open: a sentence. */
  findFault(): string | undefined
  /** True: other gateways may use the store at the same time. */
  isShared: boolean
  /** The other gateways on the same store. */
  replicas: Replicas
}

interface CallStore extends Pick<GroupCommit, 'call' | 'callWithDeadline'> {
  /** True: a write has failed. */
  cannotWrite(): boolean
}

/** Builds a store's methods from the two ways to call an engine: with and without a deadline. */
export function createStoreCalls({ call, callWithDeadline, cannotWrite }: CallStore): StoreOperations {
  const names = Object.keys(operations) as OperationName[]
  const plain = Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => call([name, args] as unknown as StoreCall)]),
  ) as unknown as StoreOperations
  return {
    ...plain,
    accept: (command) =>
      callWithDeadline(['accept', [command]], countCharacters(command)) as ReturnType<Store['accept']>,
    probe: (isThorough = cannotWrite()) => callWithDeadline(['probe', [isThorough]], 0) as Promise<void>,
    async purgeExpiredKeys(at) {
      let total = 0
      let purged: number
      do {
        purged = await plain.purgeExpiredKeys(at)
        total += purged
      } while (purged === maxPurgedKeys)
      return total
    },
  }
}

/** Roughly what a command holds in memory: the length of its texts. */
function countCharacters({ request, events = [], runs = [] }: AcceptCommand): number {
  let characters = request?.body?.length ?? 0
  for (const { text } of events) characters += text.length
  for (const { spec } of runs) characters += spec.message.length
  return characters
}
