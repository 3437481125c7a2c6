// The main thread's end of the store's worker: hands over groups of calls, and starts another worker when one dies.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../plugin.ts'
import { endThread } from './end-thread.ts'
import type { Outcome } from './group-commit.ts'
import type { Call } from './operations.ts'

export interface StoreThread {
  /** Answered in the order of the calls. A worker that dies leaves what it was given `unavailable`. */
  commit(calls: readonly Call[]): Promise<Outcome>
  close(): Promise<void>
}

interface StoreThreadOptions {
  path: string
  log: Log
  /** Called with each commit: how many operations shared it. */
  onCommit?: ((operations: number) => void) | undefined
}

interface Group {
  size: number
  resolve: (outcome: Outcome) => void
}

export function createStoreThread({ path, log, onCommit }: StoreThreadOptions): StoreThread {
  let worker: Worker | undefined
  const sent: Group[] = []
  let broken = false

  function start(): Worker {
    const started = new Worker(new URL(`./sqlite-worker${extname(import.meta.filename)}`, import.meta.url), { workerData: { path }, name: 'store' })
    let cause = 'it ended'
    started.on('message', settle)
    started.on('error', (error) => (cause = error instanceof Error ? error.message : String(error)))
    started.on('exit', () => {
      if (worker !== started) return
      worker = undefined
      if (sent.length > 0) settle(sent.map(() => ({ unavailable: `The store's thread died: ${cause}.` })))
    })
    return started
  }

  /** The outcomes of one commit, one for each of the groups that have waited longest. */
  function settle(outcomes: readonly Outcome[]): void {
    const groups = sent.splice(0, outcomes.length)
    const operations = groups.reduce((total, { size }) => total + size, 0)
    if (operations > 0) onCommit?.(operations)
    for (const [index, outcome] of outcomes.entries()) {
      report(outcome)
      groups[index]?.resolve(outcome)
    }
  }

  /** One line when it breaks and one when it is whole again, not one per batch. */
  function report(outcome: Outcome): void {
    const breaks = 'unavailable' in outcome
    if (breaks && !broken) log.error({ reason: outcome.unavailable }, 'the store cannot be written')
    if (!breaks && broken) log.info({}, 'the store can be written again')
    broken = breaks
  }

  return {
    async commit(calls) {
      worker ??= start()
      worker.postMessage(calls)
      return new Promise((resolve) => sent.push({ size: calls.length, resolve }))
    },
    async close() {
      const closing = worker
      worker = undefined
      await endThread(closing)
    },
  }
}
