// The embedded store: an SQLite file that one process owns. A worker thread writes it, with many calls per commit.
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin.ts'
import { createGroupCommit, type GroupCommit } from '../group-commit.ts'
import { packAccept } from '../operations/packed-accept.ts'
import { maxPurgedKeys } from '../operations/idempotency.ts'
import { type OperationName, operations } from '../operations/operations.ts'
import type { AcceptCommand, OpeningStore, Store } from '../store.ts'
import { acquireLock } from './lock.ts'
import { createStoreThread, type StoreThread } from './thread.ts'

export interface SqliteOptions {
  path: string
  log: Log
  /** Called after each commit with the number of operations in it. */
  onCommit?: (operations: number) => void
}

/** Opens or creates the file. Throws when another process owns it; `opened` rejects when it cannot be used. */
export function createSqliteStore({ path, log, onCommit }: SqliteOptions): OpeningStore {
  const lock = acquireLock(path)
  const thread = createStoreThread({ path, log, onCommit })
  const groupCommit = createGroupCommit(thread.commit)
  async function close(): Promise<void> {
    await groupCommit.close()
    await thread.close()
    lock.release()
  }
  const opened = openFile(thread)
  // A start that fails earlier does not await it.
  opened.catch(() => undefined)
  return { store: { ...createOperations(groupCommit), close }, opened }
}

/** Runs the migrations. */
async function openFile(thread: StoreThread): Promise<void> {
  // An empty group only opens the file.
  const outcome = await thread.commit([])
  if ('unavailable' in outcome) throw new GatewayError('store_unavailable', outcome.unavailable)
}

function createOperations({ call, callWithDeadline }: GroupCommit): Omit<Store, 'close'> {
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
