// Sends groups of calls to the store's thread, and starts another thread when it dies.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../plugin/plugin.ts'
import { createFailureLog } from '../failure-log.ts'
import type { GroupOutcome } from '../group-commit.ts'
import type { StoreCall } from '../operations.ts'
import { endThread } from './end-thread.ts'

export interface StoreThread {
  /** Groups are answered in order. When the thread dies, the groups that it was sent are `unavailable`. */
  commit(calls: readonly StoreCall[]): Promise<GroupOutcome>
  close(): Promise<void>
}

interface StoreThreadOptions {
  path: string
  log: Log
  /** Called after each commit with the number of operations in it. */
  onCommit?: ((operations: number) => void) | undefined
}

interface Group {
  calls: readonly StoreCall[]
  resolve: (outcome: GroupOutcome) => void
}

export function createStoreThread({ path, log, onCommit }: StoreThreadOptions): StoreThread {
  let worker: Worker | undefined
  const sent: Group[] = []
  const logFailures = createFailureLog(log)

  function startWorker(): Worker {
    const started = new Worker(new URL(`./worker${extname(import.meta.filename)}`, import.meta.url), {
      workerData: { path },
      name: 'store',
    })
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
      logFailures(calls, outcome)
      resolve(outcome)
    }
  }

  return {
    async commit(calls) {
      worker ??= startWorker()
      worker.postMessage(calls)
      return new Promise((resolve) => sent.push({ calls, resolve }))
    },
    async close() {
      const closing = worker
      worker = undefined
      await endThread(closing)
    },
  }
}
