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
  /** Reads a run for which callers wait, or all of them, because it may have ended in another gateway. */
  recheck(id?: string): void
  /** Lets all callers go on. */
  close(): void
}

interface Waiter {
  resolve: (run?: StoredRun) => void
  read: () => Promise<StoredRun | undefined>
}

/** The longest delay that a timer supports. */
const maxDelayMs = 2 ** 31 - 1

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<Waiter>>()
  let closed = false
  return {
    wait: async (read, { id, ms }) => {
      const { promise: ended, resolve } = Promise.withResolvers<StoredRun | undefined>()
      const others = waiting.get(id) ?? new Set()
      const waiter = { resolve, read }
      waiting.set(id, others.add(waiter))
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
        others.delete(waiter)
        if (others.size === 0) waiting.delete(id)
      }
    },
    notify: (run) => {
      for (const { resolve } of waiting.get(run.id) ?? []) resolve(run)
    },
    recheck: (id) => {
      const rechecked = id === undefined ? waiting.values() : [waiting.get(id) ?? []]
      for (const waiters of rechecked) for (const waiter of waiters) void resolveIfEnded(waiter)
    },
    close: () => {
      closed = true
      for (const others of waiting.values()) for (const { resolve } of others) resolve()
    },
  }
}

async function resolveIfEnded({ resolve, read }: Waiter): Promise<void> {
  // If the store cannot be read now, the next check reads again.
  const run = await read().catch(() => undefined)
  if (run && run.endedAt !== null) resolve(run)
}
