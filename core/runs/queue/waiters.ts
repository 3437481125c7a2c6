// Lets callers wait until a run has ended.
import { setTimeout as delay } from 'node:timers/promises'
import type { Store, StoredRun } from '../../store/store.ts'

export interface Waiters {
  /**
   * Returns the run when `notify` reports its end, or after `ms` as it is then. When this closes, it returns the run as
   * it was at first: connections are about to close, so there is no time to read it. It does not wait for a run that has
   * ended already.
   */
  wait(id: string, ms: number): Promise<StoredRun | undefined>
  notify(run: StoredRun): void
  /** Reads a run for which callers wait, or all of them, because it may have ended in another gateway. */
  recheck(id?: string): void
  /** Lets all callers go on. */
  close(): void
}

type Resolve = (run?: StoredRun) => void

/** The longest delay that a timer supports. */
const maxDelayMs = 2 ** 31 - 1

export function createWaiters({ getRun }: Pick<Store, 'getRun'>): Waiters {
  const waiting = new Map<string, Set<Resolve>>()
  let closed = false

  const resolveIfEnded = async (id: string): Promise<void> => {
    // If the store cannot be read now, the next check reads again.
    const run = await getRun(id).catch(() => undefined)
    if (run && run.endedAt !== null) notify(run)
  }

  const notify = (run: StoredRun): void => {
    for (const resolve of waiting.get(run.id) ?? []) resolve(run)
  }

  return {
    wait: async (id, ms) => {
      const { promise: ended, resolve } = Promise.withResolvers<StoredRun | undefined>()
      const others = waiting.get(id) ?? new Set()
      waiting.set(id, others.add(resolve))
      const abort = new AbortController()
      try {
        // Read only after the listener is registered, so that no end is missed in between.
        const now = await getRun(id)
        if (!now || now.endedAt !== null || closed) return now
        const late = delay(Math.min(ms, maxDelayMs), undefined, { ref: false, signal: abort.signal }).catch(
          () => undefined,
        )
        return (await Promise.race([ended, late])) ?? (closed ? now : await getRun(id))
      } finally {
        abort.abort()
        others.delete(resolve)
        if (others.size === 0) waiting.delete(id)
      }
    },
    notify,
    recheck: (id) => {
      const rechecked = id === undefined ? waiting.keys() : waiting.has(id) ? [id] : []
      for (const one of rechecked) void resolveIfEnded(one)
    },
    close: () => {
      closed = true
      for (const others of waiting.values()) for (const resolve of others) resolve()
    },
  }
}
