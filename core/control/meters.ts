// Counts what happens, from the start on: plain numbers in memory, read when somebody asks for /metrics.
import type { Store } from '../store/store.ts'

/** Values by label, `status="200"`. Whoever counts keeps the number of labels small. */
export type Counter = Map<string, number>

export interface Histogram {
  /** Upper bounds of the buckets; one more bucket is for what is larger. */
  bounds: readonly number[]
  counts: number[]
  sum: number
  observe(value: number): void
}

export interface Meters {
  requests: Counter
  deliveries: Counter
  runs: Counter
  messages: Counter
  forgotten: Counter
  /** Seconds from accepting to being on disk. */
  accepts: Histogram
  /** Operations in one commit. */
  commits: Histogram
  /** The same store; what goes through it is counted. */
  watch(store: Store): Store
}

export function createMeters(): Meters {
  const meters = {
    requests: new Map<string, number>(),
    deliveries: new Map<string, number>(),
    runs: new Map<string, number>(),
    messages: new Map<string, number>(),
    forgotten: new Map<string, number>(),
    accepts: createHistogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]),
    commits: createHistogram([1, 2, 4, 8, 16, 32, 64, 128, 256]),
  }
  return { ...meters, watch: (store) => watch(store, meters) }
}

export function count(counter: Counter, label: string, times = 1): void {
  counter.set(label, (counter.get(label) ?? 0) + times)
}

const byStatus = (status: string): string => `status="${status}"`

function watch(store: Store, { deliveries, runs, messages, forgotten, accepts }: Omit<Meters, 'watch'>): Store {
  return {
    ...store,
    accept: (command) => {
      const begun = performance.now()
      return store.accept(command).then((result) => {
        accepts.observe((performance.now() - begun) / 1000)
        if (command.delivery && result.outcome === 'accepted') count(deliveries, byStatus('accepted'))
        return result
      })
    },
    recordRefusal: async (refusal, at) => {
      await store.recordRefusal(refusal, at)
      count(deliveries, byStatus(refusal.status))
    },
    endRun: async (run, end) => {
      const ended = await store.endRun(run, end)
      if (ended) count(runs, byStatus(end.status))
      return ended
    },
    endMessage: async (...args) => {
      const ended = await store.endMessage(...args)
      if (ended) count(messages, byStatus(args[2].status))
      return ended
    },
    forget: async (step) => {
      const result = await store.forget(step)
      for (const [kind, times] of Object.entries(result.counts)) if (times > 0) count(forgotten, `kind="${kind}"`, times)
      return result
    },
    forgetBodies: async (step) => {
      const result = await store.forgetBodies(step)
      if (result.count > 0) count(forgotten, 'kind="bodies"', result.count)
      return result
    },
  }
}

function createHistogram(bounds: readonly number[]): Histogram {
  const histogram: Histogram = {
    bounds,
    counts: Array.from({ length: bounds.length + 1 }, () => 0),
    sum: 0,
    observe(value) {
      const found = bounds.findIndex((bound) => value <= bound)
      const bucket = found === -1 ? bounds.length : found
      histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
      histogram.sum += value
    },
  }
  return histogram
}
