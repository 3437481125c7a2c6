// The pool of child processes for transforms: tries out new modules, admits requests, and hands them to the worker.
import type { Log } from '../../plugin/plugin.ts'
import { shareProcess } from '../share-process.ts'
import { TransformError } from '../transform-error.ts'
import { type Child, ChildEnded, type ChildResponse, type EndReason, startChild } from './child.ts'
import type { ChildLimits } from './limits.ts'
import { createWorkers } from './workers.ts'

export interface PoolOptions extends ChildLimits {
  /** Requests that may be pending in the worker. */
  maxPending: number
  /** Size of the payloads that may be pending. */
  maxPendingBytes: number
  /** Time limit for the evaluation of a module. */
  loadMs: number
  /** How long the worker may be without requests before it ends. */
  idleMs: number
  readRunner(): Promise<string>
  log: Log
}

export interface ModuleSource {
  code: string
  exportName: string
}

export interface RunRequest {
  payload: string | Uint8Array
  /** The transform's input without its payload, as JSON. */
  rest: string
  timeoutMs: number
}

export interface Pool {
  /**
   * Evaluates a module in a process of its own, where it cannot harm others. Rejects with `ChildEnded` when the module
   * ends the process.
   */
  probe(source: ModuleSource): Promise<ChildResponse>
  /** Adds a module, which must have been probed. @returns its id */
  add(source: ModuleSource): number
  remove(moduleId: number): void
  /** One attempt; rejects with `ChildEnded` when the worker ends first. */
  run(moduleId: number, request: RunRequest): Promise<ChildResponse>
  status(): { pid: number | undefined }[]
  close(): Promise<void>
}

export function createPool(options: PoolOptions): Pool {
  const { maxPending, maxPendingBytes, loadMs, idleMs, readRunner, log } = options
  const modules = new Map<number, ModuleSource & { loadedBy: WeakSet<Child> }>()
  /** Read by the first probe, which precedes all other starts. */
  let runner = ''
  const start = (onEnd: (reason: EndReason) => void) => startChild({ runner, limits: options, onEnd })
  const workers = createWorkers({ start, idleMs, log })
  const prober = shareProcess<Child>({
    async start() {
      runner ||= await readRunner()
      const child = start(() => undefined)
      await child.ready
      return child
    },
    end(child) {
      child.kill()
      return child.ended
    },
  })
  let lastId = 0
  let pendingBytes = 0

  const load = (child: Child, moduleId: number, { code, exportName }: ModuleSource): Promise<ChildResponse> =>
    child.send({ kind: 'load', moduleId, first: exportName, second: code, timeoutMs: loadMs })

  /**
   * A child executes requests in order, so nothing has to wait for the load. A module that ended its child while it was
   * loaded is never loaded again.
   */
  function loadOnce(worker: Child, moduleId: number): void {
    const module = modules.get(moduleId)
    if (!module || module.loadedBy.has(worker)) return
    module.loadedBy.add(worker)
    load(worker, moduleId, module).catch((error: unknown) => {
      if (error instanceof ChildEnded && error.wasActive) modules.delete(moduleId)
    })
  }

  function admit(): Child {
    const worker = workers.serve()
    if (!worker) throw new TransformError('busy', 'The sandbox is restarting; try again later.')
    if (worker.pendingCount() >= maxPending || pendingBytes >= maxPendingBytes)
      throw new TransformError('busy', 'Too many transform runs are waiting; try again later.')
    return worker
  }

  return {
    probe: (source) => prober.run((child) => load(child, 0, source)),
    add(source) {
      modules.set(++lastId, { ...source, loadedBy: new WeakSet() })
      return lastId
    },
    remove(moduleId) {
      const worker = workers.current()
      if (worker && modules.get(moduleId)?.loadedBy.has(worker))
        worker.send({ kind: 'drop', moduleId, first: '', second: '', timeoutMs: loadMs }).catch(() => undefined)
      modules.delete(moduleId)
    },
    async run(moduleId, { payload, rest, timeoutMs }) {
      const worker = admit()
      loadOnce(worker, moduleId)
      pendingBytes += payload.length
      try {
        const response = await worker.send({ kind: 'run', moduleId, first: payload, second: rest, timeoutMs })
        workers.recordResponse(worker, response)
        return response
      } finally {
        pendingBytes -= payload.length
        workers.release(worker)
      }
    },
    status() {
      const worker = workers.current()
      return worker ? [{ pid: worker.pid }] : []
    },
    async close() {
      await Promise.all([prober.close(), workers.close()])
    },
  }
}
