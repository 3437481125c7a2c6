// The transform modules of a pool: every worker loads all of them, including workers that start later.
import { type Child, ChildEnded } from './child.ts'

export interface ModuleSource {
  code: string
  exportName: string
}

export interface Modules {
  /** @returns the module's id */
  add(source: ModuleSource, workers: Iterable<Child>): number
  remove(moduleId: number, workers: Iterable<Child>): void
  loadAll(worker: Child): void
}

export function createModules(loadMs: number): Modules {
  const sources = new Map<number, ModuleSource>()
  let lastId = 0

  /**
   * A child executes requests in order, so nothing has to wait for the load. A module that ended its child while it was
   * loaded is never loaded again.
   */
  function load(worker: Child, moduleId: number, { code, exportName }: ModuleSource): void {
    const request = { kind: 'load', moduleId, first: exportName, second: code, timeoutMs: loadMs } as const
    worker.send(request).catch((error: unknown) => {
      if (error instanceof ChildEnded && error.wasActive) sources.delete(moduleId)
    })
  }

  return {
    add(source, workers) {
      const moduleId = ++lastId
      sources.set(moduleId, source)
      for (const worker of workers) load(worker, moduleId, source)
      return moduleId
    },
    remove(moduleId, workers) {
      sources.delete(moduleId)
      const request = { kind: 'drop', moduleId, first: '', second: '', timeoutMs: loadMs } as const
      for (const worker of workers) worker.send(request).catch(() => undefined)
    },
    loadAll(worker) {
      for (const [moduleId, source] of sources) load(worker, moduleId, source)
    },
  }
}
