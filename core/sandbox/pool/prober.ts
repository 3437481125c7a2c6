// Tries out new modules in a child process of its own, where they cannot harm the workers.
import type { Child, ChildResponse } from './child.ts'
import type { ModuleSource } from './modules.ts'
import type { Spawner } from './spawner.ts'

/** Evaluates a module. Rejects with `ChildEnded` when the module ends the child. */
export type Probe = (source: ModuleSource) => Promise<ChildResponse>

/** Probes run one after another, so that a gateway that starts is not slowed down by many of them. */
export function createProber({ spawner, loadMs }: { spawner: Spawner; loadMs: number }): Probe {
  let lastProbe: Promise<unknown> = Promise.resolve()
  let queued = 0
  let child: Child | undefined

  /** All queued probes share a child, unless one of them ends it. */
  async function evaluate({ code, exportName }: ModuleSource): Promise<ChildResponse> {
    try {
      await spawner.prepare()
      child ??= spawner.spawn()
      await child.ready
      return await child.send({ kind: 'load', moduleId: 0, first: exportName, second: code, timeoutMs: loadMs })
    } catch (error) {
      child = undefined
      throw error
    } finally {
      queued--
      if (queued === 0) {
        child?.kill()
        child = undefined
      }
    }
  }

  return (source) => {
    queued++
    const probe = lastProbe.then(() => evaluate(source))
    lastProbe = probe.catch(() => undefined)
    return probe
  }
}
