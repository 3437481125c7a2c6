// The embedded store: an SQLite file that one process owns. A worker thread writes it, with many calls per commit.
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin.ts'
import { createGroupCommit, type GroupCommit } from '../group-commit.ts'
import { toAcceptRecords } from '../operations/accept.ts'
import { maxPurgedKeys } from '../operations/idempotency.ts'
import { type OperationName, operations } from '../operations/operations.ts'
import type { AcceptCommand, Store } from '../store.ts'
import { acquireLock } from './lock.ts'
import { createStoreThread } from './thread.ts'

export interface SqliteOptions {
  path: string
  log: Log
  /** Called after each commit with the number of operations in it. */
  onCommit?: (operations: number) => void
}

/** Opens or creates the file. Throws when another process owns it or when it cannot be used. */
export async function createSqliteStore({ path, log, onCommit }: SqliteOptions): Promise<Store> {
  const lock = acquireLock(path)
  const thread = createStoreThread({ path, log, onCommit })
  // An empty group opens the file and runs its migrations.
  const opened = await thread.commit([])
  if ('unavailable' in opened) {
    await thread.close()
    lock.release()
    throw new GatewayError('store_unavailable', opened.unavailable)
  }
  const groupCommit = createGroupCommit(thread.commit)
  async function close(): Promise<void> {
    await groupCommit.close()
    await thread.close()
    lock.release()
  }
  return { ...createOperations(groupCommit), close }
}

function createOperations({ call, callWithDeadline }: GroupCommit): Omit<Store, 'close'> {
  const names = Object.keys(operations) as OperationName[]
  const plain = Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => call([name, args])]))
  return {
    ...(plain as unknown as Omit<Store, 'close'>),
    accept: (command) =>
      callWithDeadline(['accept', [toAcceptRecords(command)]], countCharacters(command)) as ReturnType<Store['accept']>,
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
