// Limits how many runs may wait. The count is kept in memory and corrected from the store now and then.
import { GatewayError } from '../../errors.ts'
import type { Store } from '../../store/store.ts'

export interface QueueLimit {
  /** Throws `overloaded` if the queue has no room for this many more runs. */
  check(count: number): void
  /** Counts runs that are on their way into the store. */
  reserve(count: number): void
  /** Stops counting them as such. */
  release(count: number): void
  /** Changes the number of runs that wait in the store. */
  add(change: number): void
  /** Reads that number from the store. */
  recount(): Promise<void>
}

const retryAfterSeconds = 5

export function createQueueLimit(store: Pick<Store, 'countQueuedRuns'>, maxQueued: () => number): QueueLimit {
  let queued = 0
  let arriving = 0
  return {
    check: (count) => {
      if (queued + arriving + count > maxQueued())
        throw new GatewayError('overloaded', undefined, { retryAfter: retryAfterSeconds })
    },
    reserve: (count) => {
      arriving += count
    },
    release: (count) => {
      arriving -= count
    },
    add: (change) => {
      queued = Math.max(0, queued + change)
    },
    recount: async () => {
      queued = await store.countQueuedRuns()
    },
  }
}
