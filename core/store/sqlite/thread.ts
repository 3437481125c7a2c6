// Sends groups of calls to the store's thread, starts another thread when it dies, and logs when reading or writing
// breaks and recovers.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../plugin.ts'
import type { FailureCode, GroupOutcome } from '../group-commit.ts'
import { type StoreCall, isWrite } from '../operations/operations.ts'
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

const messages = {
  write: { failed: 'the store cannot be written', recovered: 'the store can be written again' },
  read: { failed: 'the store cannot be read', recovered: 'the store can be read again' },
} as const

/** Logs one line when reads or writes break and one when they recover. Damage does not heal, so it is logged once. */
function createFailureLog(log: Log): (calls: readonly StoreCall[], outcome: GroupOutcome) => void {
  const isBroken = { write: false, read: false }
  let isDamaged = false

  function report(kind: 'write' | 'read', reason: string | undefined): void {
    if (reason !== undefined && !isBroken[kind]) log.error({ reason }, messages[kind].failed)
    if (reason === undefined && isBroken[kind]) log.info({}, messages[kind].recovered)
    isBroken[kind] = reason !== undefined
  }

  return (calls, outcome) => {
    if ('unavailable' in outcome) return report('write', outcome.unavailable)
    const findReason = (code: FailureCode, concerns: (call: StoreCall) => boolean): string | undefined => {
      const found = [...outcome.failures].find(
        ([index, failure]) => failure.code === code && concerns(calls[index] as StoreCall),
      )
      return found?.[1].reason
    }
    const damage = findReason('store_damaged', () => true)
    if (damage !== undefined && !isDamaged) log.error({ reason: damage }, 'the store is damaged')
    isDamaged ||= damage !== undefined
    if (calls.some(isWrite)) report('write', findReason('store_unavailable', isWrite))
    if (!calls.every(isWrite)) report('read', findReason('store_unavailable', isRead))
  }
}

const isRead = (call: StoreCall): boolean => !isWrite(call)
