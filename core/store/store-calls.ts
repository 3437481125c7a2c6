// Builds a store's methods from the two ways to call an engine: with and without a deadline.
import type { GroupCommit } from './group-commit.ts'
import { type OperationName, operations, type StoreCall } from './operations.ts'
import type { AcceptCommand, Store, StoreOperations } from './store.ts'
import { maxPurgedKeys } from './tables/idempotency.ts'

export type CallStore = Pick<GroupCommit, 'call' | 'callWithDeadline'>

export function createStoreCalls({ call, callWithDeadline }: CallStore): StoreOperations {
  const names = Object.keys(operations) as OperationName[]
  const plain = Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => call([name, args] as unknown as StoreCall)]),
  ) as unknown as StoreOperations
  return {
    ...plain,
    accept: (command) =>
      callWithDeadline(['accept', [command]], countCharacters(command)) as ReturnType<Store['accept']>,
    probe: () => callWithDeadline(['probe', []], 0) as Promise<void>,
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
