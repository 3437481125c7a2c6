// Those who wait for a run to end.
import { setTimeout as delay } from 'node:timers/promises'
import type { StoredRun } from '../store/store.ts'

export interface Waiters {
  /**
   * The run once `notify` tells of its end; else, after `ms` or at the close, what `read` says then. A run that has
   * ended is not waited for.
   */
  wait(read: () => Promise<StoredRun | undefined>, until: { id: string; ms: number }): Promise<StoredRun | undefined>
  notify(run: StoredRun): void
  /** Nobody waits any longer. */
  close(): void
}

/** The longest that a timer can wait. */
const longestMs = 2 ** 31 - 1

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<(run?: StoredRun) => void>>()
  let closed = false
  return {
    wait: async (read, { id, ms }) => {
      const { promise: ended, resolve } = Promise.withResolvers<StoredRun | undefined>()
      const others = waiting.get(id) ?? new Set()
      waiting.set(id, others.add(resolve))
      const patience = new AbortController()
      try {
        // Asked only now, so that an end between the question and the wait is not missed.
        const now = await read()
        if (!now || now.endedAt !== null || closed) return now
        const late = delay(Math.min(ms, longestMs), undefined, { ref: false, signal: patience.signal }).catch(
          () => undefined,
        )
        return (await Promise.race([ended, late])) ?? (await read())
      } finally {
        patience.abort()
        others.delete(resolve)
        if (others.size === 0) waiting.delete(id)
      }
    },
    notify: (run) => {
      for (const resolve of waiting.get(run.id) ?? []) resolve(run)
    },
    close: () => {
      closed = true
      for (const others of waiting.values()) for (const resolve of others) resolve()
    },
  }
}
