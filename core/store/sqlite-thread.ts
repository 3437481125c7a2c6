// The main thread's end of the store's worker: hands over batches, and starts another worker when one dies.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../plugin.ts'
import type { BatchOutcome } from './group-commit.ts'
import type { Call } from './operations.ts'

export interface StoreThread {
  /** One batch at a time. A worker that dies leaves its batch `unavailable`. */
  commit(batch: readonly Call[]): Promise<BatchOutcome>
  close(): Promise<void>
}

export function createStoreThread({ path, log }: { path: string; log: Log }): StoreThread {
  let worker: Worker | undefined
  let answer: ((outcome: BatchOutcome) => void) | undefined
  let broken = false

  function start(): Worker {
    const started = new Worker(new URL(`./sqlite-worker${extname(import.meta.filename)}`, import.meta.url), { workerData: { path }, name: 'store' })
    let cause = 'it ended'
    started.on('message', (outcome: BatchOutcome) => settle(outcome))
    started.on('error', (error) => (cause = error instanceof Error ? error.message : String(error)))
    started.on('exit', () => {
      if (worker !== started) return
      worker = undefined
      settle({ unavailable: `The store's thread died: ${cause}.` })
    })
    return started
  }

  function settle(outcome: BatchOutcome): void {
    report(outcome)
    const resolve = answer
    answer = undefined
    resolve?.(outcome)
  }

  /** One line when it breaks and one when it is whole again, not one per batch. */
  function report(outcome: BatchOutcome): void {
    const breaks = 'unavailable' in outcome
    if (breaks && !broken) log.error({ reason: outcome.unavailable }, 'the store cannot be written')
    if (!breaks && broken) log.info({}, 'the store can be written again')
    broken = breaks
  }

  return {
    async commit(batch) {
      worker ??= start()
      worker.postMessage(batch)
      return new Promise((resolve) => (answer = resolve))
    },
    async close() {
      const closing = worker
      worker = undefined
      if (!closing) return
      closing.postMessage(null)
      await new Promise((resolve) => closing.once('exit', resolve))
    },
  }
}
