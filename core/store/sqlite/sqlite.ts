// The embedded store: an SQLite file that one process owns. A worker thread writes it, with many calls per commit.
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { Commits } from '../commits/commits.ts'
import { createFeed } from '../commits/feed.ts'
import { createGroupCommit } from '../group-commit.ts'
import { noReplicas } from '../replicas.ts'
import { createStoreCalls } from '../store-calls.ts'
import type { OpeningStore } from '../store.ts'
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
  const commits: Commits = createFeed()
  const groupCommit = createGroupCommit(thread.commit, { commits })
  async function close(): Promise<void> {
    await groupCommit.close()
    await thread.close()
    lock.release()
  }
  const opened = openFile(thread)
  // A start that fails earlier does not await it.
  opened.catch(() => undefined)
  const store = { ...createStoreCalls(groupCommit), close }
  return { store, opened, commits, findFault: () => undefined, isShared: false, replicas: noReplicas }
}

/** Runs the migrations. */
async function openFile(thread: StoreThread): Promise<void> {
  // An empty group only opens the file.
  const outcome = await thread.commit([])
  if ('unavailable' in outcome) throw new GatewayError('store_unavailable', outcome.unavailable)
}
