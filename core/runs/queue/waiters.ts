// Lets callers wait until a run has ended.
import { setTimeout as delay } from 'node:timers/promises'
import type { StoredRun } from '../../store/store.ts'

export interface Waiters {
  /**
   * Returns the run when `notify` reports its end. After `ms`, or when this closes, it returns what `read` returns
   * then. It does not wait for a run that has ended already.
   */
  wait(read: () => Promise<StoredRun | undefined>, until: { id: string; ms: number }): Promise<StoredRun | undefined>
  notify(run: StoredRun): void
  /** Lets all callers go on. */
  close(): void
}

/** The longest delay that a timer supports. */
const maxDelayMs = 2 ** 31 - 1

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<(run?: StoredRun) => void>>()
  let closed = false
  return {
    wait: async (read, { id, ms }) => {
      const { promise: ended, resolve } = Promise.withResolvers<StoredRun | undefined>()
      const others = waiting.get(id) ?? new Set()
      waiting.set(id, others.add(resolve))
      const abort = new AbortController()
      try {
        // Read only after the listener is registered, so that no end is missed in between.
        const now = await read()
        if (!now || now.endedAt !== null || closed) return now
        const late = delay(Math.min(ms, maxDelayMs), undefined, { ref: false, signal: abort.signal }).catch(
          () => undefined,
        )
        return (await Promise.race([ended, late])) ?? (await read())
      } finally {
        abort.abort()
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
