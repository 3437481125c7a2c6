// Starts the child processes of a pool, and kills those that are left when the pool closes.
import { type Child, ChildEnded, startChild } from './child.ts'
import type { ChildLimits } from './limits.ts'

export interface Spawner {
  /** Reads the code that children run. Must resolve before the first `spawn`. Rejects when the pool is closed. */
  prepare(): Promise<void>
  /** Throws when the system cannot start a process. */
  spawn(onEnd?: (child: Child, reason: string) => void): Child
  close(): Promise<void>
}

interface SpawnerDeps {
  readRunner(): Promise<string>
  limits: ChildLimits
}

export function createSpawner({ readRunner, limits }: SpawnerDeps): Spawner {
  const children = new Set<Child>()
  let runner: string | undefined
  let isClosed = false
  return {
    async prepare() {
      runner ??= await readRunner()
      if (isClosed) throw new ChildEnded('closed', false)
    },
    spawn(onEnd) {
      if (runner === undefined) throw new Error('The code of the child processes has not been read.')
      const child = startChild({ runner, limits, onEnd: (reason) => onEnd?.(child, reason) })
      children.add(child)
      void child.ended.then(() => children.delete(child))
      return child
    },
    async close() {
      isClosed = true
      const ends = [...children].map(({ ended }) => ended)
      for (const child of children) child.kill()
      await Promise.all(ends)
    },
  }
}
