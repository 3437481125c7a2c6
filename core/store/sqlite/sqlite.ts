// The embedded store: an SQLite file that one process owns. A worker thread writes it, with many calls per commit.
import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import { type Commits, createFeed } from '../commits/commits.ts'
import { createGroupCommit, type GroupOutcome } from '../group-commit.ts'
import { noReplicas } from '../replicas.ts'
import { createStoreCalls, type OpeningStore, type Store } from '../store.ts'
import { acquireLock } from './lock.ts'
import { type FileIds, identifyStore } from './store-files.ts'
import type { StoreFile } from './worker.ts'
import { createFailureLog, type FailureLog } from '../failure-log.ts'
import type { StoreCall } from '../operations.ts'
import { toAcceptRows } from '../accept.ts'

interface SqliteOptions {
  path: string
  log: Log
  /** What `startThread` returned. Absent: it is started now. */
  thread?: Worker | undefined
  /** Called after each commit with the number of operations in it. */
  onCommit?: ((operations: number) => void) | undefined
}

/**
 * Starts the thread that writes the file. That takes as long as everything else before the store is opened, so both are
 * done at the same time. The thread does not keep the process alive until it is used.
 */
export function startThread(): Worker {
  const file = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url)
  const thread = new Worker(file, { name: 'store' })
  thread.unref()
  return thread
}

/** Opens or creates the file. Throws when another process owns it; `opened` rejects when it cannot be used. */
export function createSqliteStore(options: SqliteOptions): OpeningStore {
  const lock = acquireLock(options.path)
  const failures = createFailureLog({ log: options.log, probe: () => store.probe(true) })
  const thread = createStoreThread({ ...options, failures })
  const commits: Commits = createFeed()
  const groupCommit = createGroupCommit(thread.commit, { commits })
  async function close(): Promise<void> {
    await groupCommit.close()
    await thread.close()
    failures.close()
    lock.release()
  }
  const opened = openFile(thread)
  // A start that fails earlier does not await it.
  opened.catch(() => undefined)
  const store: Store = { ...createStoreCalls({ ...groupCommit, cannotWrite: failures.cannotWrite }), close }
  return {
    store,
    opened,
    commits,
    now: () => Date.now(),
    findFault: () => undefined,
    isShared: false,
    replicas: noReplicas,
  }
}

/** Runs the migrations. */
async function openFile(thread: StoreThread): Promise<void> {
  // An empty group only opens the file.
  const outcome = await thread.commit([])
  if ('unavailable' in outcome) throw new GatewayError('store_unavailable', outcome.unavailable)
  thread.rememberFiles()
}

interface StoreThread {
  /** Groups are answered in order. When the thread dies, the groups that it was sent are `unavailable`. */
  commit(calls: readonly StoreCall[]): Promise<GroupOutcome>
  /** Another thread writes to the files that the store has now, or to none. */
  rememberFiles(): void
  close(): Promise<void>
}

interface Group {
  calls: readonly StoreCall[]
  resolve: (outcome: GroupOutcome) => void
}

interface StoreThreadOptions extends SqliteOptions {
  failures: Pick<FailureLog, 'record'>
}

/** Sends groups of calls to the store's thread, and starts another thread when it dies. */
function createStoreThread({ path, thread, onCommit, failures }: StoreThreadOptions): StoreThread {
  let ready = thread
  let worker: Worker | undefined
  const sent: Group[] = []
  let known: FileIds | undefined

  function startWorker(): Worker {
    const started = ready ?? startThread()
    ready = undefined
    started.ref()
    started.postMessage({ path, known } satisfies StoreFile)
    let cause = 'it ended'
    started.on('message', settleGroups)
    started.on('error', (error) => (cause = error instanceof Error ? error.message : String(error)))
    started.on('exit', () => {
      if (worker !== started) return
      worker = undefined
      if (sent.length > 0) settleGroups(sent.map(() => ({ unavailable: `The store's thread died: ${cause}.` })))
    })
    return started
  }

  /** Settles the oldest groups with the outcomes of one commit, one outcome for each group. */
  function settleGroups(outcomes: readonly GroupOutcome[]): void {
    const groups = sent.splice(0, outcomes.length)
    const operations = groups.reduce((total, { calls }) => total + calls.length, 0)
    if (operations > 0) onCommit?.(operations)
    for (const [index, { calls, resolve }] of groups.entries()) {
      const outcome = outcomes[index] as GroupOutcome
      failures.record(calls, outcome)
      resolve(outcome)
    }
  }

  return {
    async commit(calls) {
      worker ??= startWorker()
      worker.postMessage(calls.map(withRows))
      return new Promise((resolve) => sent.push({ calls, resolve }))
    },
    rememberFiles: () => {
      known = identifyStore(path)
    },
    async close() {
      const closing = worker
      worker = undefined
      if (!closing) return
      // The thread ends after all groups that it was sent before.
      closing.postMessage(null)
      await once(closing, 'exit')
    },
  }
}

/** A command whose rows cannot be made is sent as it is, so that it fails alone. */
function withRows(call: StoreCall): StoreCall {
  if (call[0] !== 'accept') return call
  try {
    return ['acceptRows', toAcceptRows(...call[1])]
  } catch {
    return call
  }
}
