// Counts events since the start, as numbers in memory that GET /metrics reads.
import type { Store } from '../../store/store.ts'
import { count, type Counter, createHistogram, type Histogram, labels } from './counters.ts'
import { createReloadMeter, type ReloadMeter } from './reload-meter.ts'
import { createRunMeters, type RunMeters } from './run-meters.ts'

export interface Meters {
  httpRequests: Counter
  webhookRequests: Counter
  runs: RunMeters
  deliveries: Counter
  purged: Counter
  firings: Counter
  reload: ReloadMeter
  /** Seconds from accepting work until it is stored. */
  accepts: Histogram
  /** Operations per commit. */
  commits: Histogram
  /** Wraps the store so that its operations are counted. */
  instrument(store: Store): Store
}

export function createMeters(): Meters {
  const meters = {
    httpRequests: new Map<string, number>(),
    webhookRequests: new Map<string, number>(),
    runs: createRunMeters(),
    deliveries: new Map<string, number>(),
    purged: new Map<string, number>(),
    firings: new Map<string, number>(),
    reload: createReloadMeter(),
    accepts: createHistogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]),
    commits: createHistogram([1, 2, 4, 8, 16, 32, 64, 128, 256]),
  }
  return { ...meters, instrument: (store) => instrument(store, meters) }
}

const byStatus = (status: string): string => labels({ status })
const accepted = byStatus('accepted')

function instrument(
  store: Store,
  { webhookRequests, runs, deliveries, purged, firings, accepts }: Omit<Meters, 'instrument'>,
): Store {
  return {
    ...store,
    ...runs.instrument(store),
    accept: (command) => {
      const startedAt = performance.now()
      return store.accept(command).then((result) => {
        accepts.observe((performance.now() - startedAt) / 1000)
        if (result.outcome !== 'accepted') return result
        if (command.request) count(webhookRequests, accepted)
        if (command.runs) runs.countAccepted(command.runs)
        if (command.firing) count(firings, '')
        return result
      })
    },
    recordRefusal: async (refusal, at) => {
      await store.recordRefusal(refusal, at)
      count(webhookRequests, byStatus(refusal.status))
    },
    endDelivery: async (...args) => {
      const ended = await store.endDelivery(...args)
      if (ended) count(deliveries, byStatus(args[2].status))
      return ended
    },
    purge: async (step) => {
      const result = await store.purge(step)
      for (const [kind, times] of Object.entries(result.counts)) if (times > 0) count(purged, `kind="${kind}"`, times)
      return result
    },
    purgeBodies: async (step) => {
      const result = await store.purgeBodies(step)
      if (result.count > 0) count(purged, 'kind="bodies"', result.count)
      return result
    },
  }
}
