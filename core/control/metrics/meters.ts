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
  approvals: Counter
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
    approvals: new Map<string, number>(),
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
const withRun = labels({ outcome: 'cancelled' })

const createHandlers = ({
  webhookRequests,
  runs,
  steps,
  deliveries,
  approvals,
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
  cancelQueuedRun: ({ args: [, { notices = [] }], result: isCancelled }) => {
    if (isCancelled && notices.length > 0) count(approvals, withRun, notices.length)
  },
  endRun: ({ args: [, { steps: last = [], notices = [] }], result: isEnded }) => {
    if (!isEnded) return
    if (notices.length > 0) count(approvals, withRun, notices.length)
    steps.countSteps(last)
    const number = last.at(-1)?.number
    if (number !== undefined) steps.stepsPerRun.observe(number)
  },
  recordRefusal: ({ args: [{ status, isUnauthenticated }] }) => {
    // Only some of them are recorded. All of them are among the HTTP requests.
    if (!isUnauthenticated) count(webhookRequests, byStatus(status))
  },
  endDelivery: ({ args: [, , { status }], result: isEnded }) => {
    if (isEnded) count(deliveries, byStatus(status))
  },
  answerApproval: ({ args: [, { status }], result: isAnswered }) => {
    if (isAnswered) count(approvals, labels({ outcome: status }))
  },
  purge: ({ result: { counts } }) => {
    for (const [kind, times] of Object.entries(counts)) if (times > 0) count(purged, `kind="${kind}"`, times)
  },
  purgeBodies: ({ result }) => {
    if (result.count > 0) count(purged, 'kind="bodies"', result.count)
  },
})
