// Counts events since the start, as numbers in memory that GET /metrics reads.
import { type CommitHandlers, handleCommit } from '../../store/commits/commits.ts'
import type { OpeningStore } from '../../store/store.ts'
import { count, type Counter, createHistogram, type Histogram, labels } from './counters.ts'
import { createReloadMeter, type ReloadMeter } from './reload-meter.ts'
import { createRunMeters, type RunMeters } from './run-meters.ts'
import { createStepMeters, type StepMeters } from './step-meters.ts'

export interface Meters {
  httpRequests: Counter
  webhookRequests: Counter
  runs: RunMeters
  steps: StepMeters
  deliveries: Counter
  purged: Counter
  firings: Counter
  reload: ReloadMeter
  /** Seconds from accepting work until it is stored. */
  accepts: Histogram
  /** Operations per commit. */
  commits: Histogram
  /** Counts what is committed from now on. */
  count(opening: Pick<OpeningStore, 'commits' | 'store'>): void
}

export function createMeters(): Meters {
  const meters = {
    httpRequests: new Map<string, number>(),
    webhookRequests: new Map<string, number>(),
    runs: createRunMeters(),
    steps: createStepMeters(),
    deliveries: new Map<string, number>(),
    purged: new Map<string, number>(),
    firings: new Map<string, number>(),
    reload: createReloadMeter(),
    accepts: createHistogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]),
    commits: createHistogram([1, 2, 4, 8, 16, 32, 64, 128, 256]),
  }
  const handlers = createHandlers(meters)
  return {
    ...meters,
    count: ({ commits, store }) => {
      commits.subscribe((call) => handleCommit(handlers, call))
      meters.runs.count({ commits, store })
    },
  }
}

const byStatus = (status: string): string => labels({ status })
const accepted = byStatus('accepted')

const createHandlers = ({
  webhookRequests,
  runs,
  steps,
  deliveries,
  purged,
  firings,
  accepts,
}: Omit<Meters, 'count'>): CommitHandlers => ({
  accept: ({ args: [command], result: { outcome }, ms }) => {
    accepts.observe(ms / 1000)
    if (outcome !== 'accepted') return
    if (command.request) count(webhookRequests, accepted)
    if (command.runs) runs.countAccepted(command.runs)
    if (command.firing) count(firings, '')
  },
  claimRuns: ({ result: claimed }) => claimed.forEach(steps.countStart),
  recordSteps: ({ args: [, { steps: recorded }], result: isRecorded }) => {
    if (isRecorded) steps.countSteps(recorded)
  },
  endRun: ({ args: [, { steps: last = [] }], result: isEnded }) => {
    if (!isEnded) return
    steps.countSteps(last)
    const number = last.at(-1)?.number
    if (number !== undefined) steps.stepsPerRun.observe(number)
  },
  recordRefusal: ({ args: [{ status }] }) => count(webhookRequests, byStatus(status)),
  endDelivery: ({ args: [, , { status }], result: isEnded }) => {
    if (isEnded) count(deliveries, byStatus(status))
  },
  purge: ({ result: { counts } }) => {
    for (const [kind, times] of Object.entries(counts)) if (times > 0) count(purged, `kind="${kind}"`, times)
  },
  purgeBodies: ({ result }) => {
    if (result.count > 0) count(purged, 'kind="bodies"', result.count)
  },
})
