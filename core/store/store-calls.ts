// Builds a store's methods from the two ways to call an engine: with and without a deadline.
import type { GroupCommit } from './group-commit.ts'
import { maxPurgedKeys } from './operations/idempotency.ts'
import { type OperationName, operations } from './operations/operations.ts'
import { packAccept } from './operations/packed-accept.ts'
import type { AcceptCommand, Store } from './store.ts'

export type CallStore = Pick<GroupCommit, 'call' | 'callWithDeadline'>

export function createStoreCalls({ call, callWithDeadline }: CallStore): Omit<Store, 'close'> {
  const names = Object.keys(operations) as OperationName[]
  const plain = Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => call([name, args])]))
  return {
    ...(plain as unknown as Omit<Store, 'close'>),
    accept: (command) =>
      callWithDeadline(['accept', [packAccept(command)]], countCharacters(command)) as ReturnType<Store['accept']>,
    probe: () => callWithDeadline(['probe', []], 0) as Promise<void>,
    async purgeExpiredKeys(at) {
      let total = 0
      let purged: number
      do {
        purged = (await call(['purgeExpiredKeys', [at]])) as number
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
