// The main thread's end of the store's worker: hands over groups of calls, and starts another worker when one dies.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../plugin.ts'
import { endThread } from './end-thread.ts'
import type { Outcome } from '../group-commit.ts'
import { type Call, isWrite } from '../operations/operations.ts'
import type { FailureCode } from './failure.ts'

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
  calls: readonly Call[]
  resolve: (outcome: Outcome) => void
}

export function createStoreThread({ path, log, onCommit }: StoreThreadOptions): StoreThread {
  let worker: Worker | undefined
  const sent: Group[] = []
  const report = createReport(log)

  function start(): Worker {
    const started = new Worker(new URL(`./worker${extname(import.meta.filename)}`, import.meta.url), {
      workerData: { path },
      name: 'store',
    })
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
    const operations = groups.reduce((total, { calls }) => total + calls.length, 0)
    if (operations > 0) onCommit?.(operations)
    for (const [index, outcome] of outcomes.entries()) {
      const group = groups[index]
      if (!group) continue
      report(group.calls, outcome)
      group.resolve(outcome)
    }
  }

  return {
    async commit(calls) {
      worker ??= start()
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

const messages = {
  written: { failed: 'the store cannot be written', worked: 'the store can be written again' },
  read: { failed: 'the store cannot be read', worked: 'the store can be read again' },
} as const

/**
 * One line when writing or reading breaks and one when it works again, not one per batch; damage does not heal, so it
 * is reported once.
 */
function createReport(log: Log): (calls: readonly Call[], outcome: Outcome) => void {
  const broken = { written: false, read: false }
  let damaged = false

  function note(verb: 'written' | 'read', reason: string | undefined): void {
    if (reason !== undefined && !broken[verb]) log.error({ reason }, messages[verb].failed)
    if (reason === undefined && broken[verb]) log.info({}, messages[verb].worked)
    broken[verb] = reason !== undefined
  }

  return (calls, outcome) => {
    if ('unavailable' in outcome) return note('written', outcome.unavailable)
    const reasonOf = (wanted: FailureCode, isConcerned: (call: Call) => boolean): string | undefined =>
      outcome.failures.find(([index, { code }]) => code === wanted && isConcerned(calls[index] as Call))?.[1].reason
    const damage = reasonOf('store_damaged', () => true)
    if (damage !== undefined && !damaged) log.error({ reason: damage }, 'the store is damaged')
    damaged ||= damage !== undefined
    if (calls.some(writes)) note('written', reasonOf('store_unavailable', writes))
    if (!calls.every(writes))
      note(
        'read',
        reasonOf('store_unavailable', (call) => !writes(call)),
      )
  }
}

const writes = ([name]: Call): boolean => isWrite(name)
