// The embedded store: a SQLite file that one process owns, written by a thread of its own, many calls per commit.
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin.ts'
import { maxPurgedKeys } from '../operations/idempotency.ts'
import { createGroupCommit, type GroupCommit } from '../group-commit.ts'
import { acquireLock } from './lock.ts'
import { type OperationName, operations } from '../operations/operations.ts'
import { createStoreThread } from './thread.ts'
import type { AcceptCommand, Store } from '../store.ts'

export interface SqliteOptions {
  path: string
  log: Log
  /** Called with each commit: how many operations shared it. */
  onCommit?: (operations: number) => void
}

/** Opens (or makes) the file; throws one sentence when another process has it, or when it can't be used. */
export async function createSqliteStore({ path, log, onCommit }: SqliteOptions): Promise<Store> {
  const lock = acquireLock(path)
  const thread = createStoreThread({ path, log, onCommit })
  // An empty group opens the file and brings its tables up to date.
  const opened = await thread.commit([])
  if ('unavailable' in opened) {
    await thread.close()
    lock.release()
    throw new GatewayError('store_unavailable', opened.unavailable)
  }
  const commits = createGroupCommit(thread.commit)
  async function close(): Promise<void> {
    await commits.close()
    await thread.close()
    lock.release()
  }
  return { ...callsThrough(commits), close }
}

function callsThrough(commits: GroupCommit): Omit<Store, 'close'> {
  const names = Object.keys(operations) as OperationName[]
  const plain = Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => commits.call([name, args])]))
  return {
    ...(plain as unknown as Omit<Store, 'close'>),
    accept: (command) =>
      commits.callInHaste(['accept', [command]], charactersOf(command)) as ReturnType<Store['accept']>,
    probe: () => commits.callInHaste(['probe', []], 0) as Promise<void>,
    async purgeExpiredKeys(at) {
      let total = 0
      let purged: number
      do {
        purged = (await commits.call(['purgeExpiredKeys', [at]])) as number
        total += purged
      } while (purged === maxPurgedKeys)
      return total
    },
  }
}

/** What a command holds in memory, roughly: its texts. */
function charactersOf({ request, events, runs }: AcceptCommand): number {
  let characters = request?.body?.length ?? 0
  for (const { text } of events ?? []) characters += text.length
  for (const { spec } of runs ?? []) characters += spec.message.length
  return characters
}
