// The pool of child processes that run transforms: admits requests, and hands each to the least busy worker.
import type { Log } from '../../plugin/plugin.ts'
import type { Child, ChildResponse } from './child.ts'
import type { ChildLimits } from './limits.ts'
import { createModules, type ModuleSource } from './modules.ts'
import { createProber, type Probe } from './prober.ts'
import { createSpawner } from './spawner.ts'
import { createWorkers } from './workers.ts'
import { TransformError } from '../transform-error.ts'

export interface PoolOptions extends ChildLimits {
  /** Workers that serve at the same time; one more is on standby. */
  processes: number
  /** Requests that may be pending in one worker. */
  maxPending: number
  /** Size of the payloads that may be pending in all workers. */
  maxPendingBytes: number
  /** Time limit for the evaluation of a module. */
  loadMs: number
  readRunner(): Promise<string>
  log: Log
}

export interface RunRequest {
  payload: string | Uint8Array
  /** The transform's input without its payload, as JSON. */
  rest: string
  timeoutMs: number
}

export interface Pool {
  probe: Probe
  /** Loads a module, which must have been probed, in every worker, now and later. @returns its id */
  add(source: ModuleSource): number
  remove(moduleId: number): void
  /** One attempt; rejects with `ChildEnded` when the worker ends first. */
  run(moduleId: number, request: RunRequest): Promise<ChildResponse>
  status(): { pid: number | undefined; pending: number }[]
  close(): Promise<void>
}

/** No process starts before the first probe. */
export function createPool(options: PoolOptions): Pool {
  const { processes, maxPending, maxPendingBytes, loadMs, readRunner, log } = options
  const spawner = createSpawner({ readRunner, limits: options })
  const modules = createModules(loadMs)
  const workers = createWorkers({ processes, spawner, onStart: modules.loadAll, log })
  let pendingBytes = 0

  function pickWorker(): Child {
    const [worker] = workers.serving().toSorted((a, b) => a.pendingCount() - b.pendingCount())
    if (!worker) throw new TransformError('busy', 'The sandbox is restarting; try again later.')
    if (worker.pendingCount() >= maxPending || pendingBytes >= maxPendingBytes)
      throw new TransformError('busy', 'Too many transform runs are waiting; try again later.')
    return worker
  }

  return {
    probe: createProber({ spawner, loadMs }),
    add(source) {
      const moduleId = modules.add(source, workers.loaded())
      workers.start()
      return moduleId
    },
    remove: (moduleId) => modules.remove(moduleId, workers.loaded()),
    async run(moduleId, { payload, rest, timeoutMs }) {
      const worker = pickWorker()
      pendingBytes += payload.length
      try {
        const response = await worker.send({ kind: 'run', moduleId, first: payload, second: rest, timeoutMs })
        workers.recordResponse(worker, response)
        return response
      } finally {
        pendingBytes -= payload.length
        workers.releaseDrained(worker)
      }
    },
    status: () => workers.serving().map((worker) => ({ pid: worker.pid, pending: worker.pendingCount() })),
    async close() {
      workers.close()
      await spawner.close()
    },
  }
}
