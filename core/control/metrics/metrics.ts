// Renders the metrics for Prometheus: counters since the start, and gauges of the current state.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Budgets } from '../../budgets/budgets.ts'
import { type BudgetView, viewBudget } from '../../budgets/view.ts'
import type { Store } from '../../store/store.ts'
import { readVersion } from '../../version.ts'
import type { Meters } from './meters.ts'
import { family, type Labels, type Sample } from './registry.ts'

export interface Metrics {
  /** Returns all metrics in the Prometheus text format. */
  read(): Promise<string>
  close(): void
}

interface MetricsDeps {
  meters: Meters
  store: Pick<Store, 'getLiveCounts' | 'getSpace'>
  budgets: Pick<Budgets, 'list'>
  channels: () => readonly { channel: string; accountId: string; state: string }[]
  jobs: () => readonly { preset: string; state: string }[]
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMetrics({ meters, store, budgets, channels, jobs }: MetricsDeps): Metrics {
  // It needs a timer, so it starts with the first scrape.
  let lag: LoopDelay | undefined
  return {
    read: async () => {
      const [counts, space, tallies] = await Promise.all([store.getLiveCounts(), store.getSpace(), budgets.list()])
      const gauges = [
        gauge('svc_gateway_info', 'The running version.', [[{ version: readVersion() }, 1]]),
        ...workGauges(counts),
        ...budgetGauges(tallies.map(viewBudget)),
        ...channelGauges(channels()),
        gauge('svc_gateway_preset_job_state', 'The state of the job of a preset.', jobStates(jobs())),
        ...reloadGauges(meters.lastReload()),
        ...storeGauges(space),
        ...lagGauges((lag ??= monitorLoop())),
        ...processMetrics(),
      ]
      return `${[...meters.render(), ...gauges.flat()].join('\n')}\n`
    },
    close: () => void lag?.disable(),
  }
}

type LiveCounts = Awaited<ReturnType<MetricsDeps['store']['getLiveCounts']>>

const workGauges = ({ runs, approvals, deliveries, schedules }: LiveCounts): string[][] => [
  gauge('svc_gateway_runs', 'Runs that are queued or running, or wait for an approval.', samplesBy('status', runs)),
  gauge('svc_gateway_approvals_waiting', 'Tool calls that wait for an approval.', [[{}, approvals]]),
  gauge('svc_gateway_deliveries', 'Unsent deliveries in the outbox, by status.', samplesBy('status', deliveries)),
  gauge('svc_gateway_schedules', 'Number of schedules.', [[{}, schedules.count]]),
  gauge(
    'svc_gateway_schedule_next_timestamp_seconds',
    'When the next schedule fires, in Unix time.',
    schedules.nextAt === null ? [] : [[{}, schedules.nextAt / 1000]],
  ),
]

const budgetGauges = (budgets: readonly BudgetView[]): string[][] => [
  gauge(
    'svc_gateway_budget_used',
    'What was used of a budget in its window, by unit.',
    budgets.flatMap(({ key, used, limits }) => amountsOf(key, used, limits)),
  ),
  gauge(
    'svc_gateway_budget_limit',
    'The limit of a budget, by unit.',
    budgets.flatMap(({ key, limits }) => amountsOf(key, limits, limits)),
  ),
]

/** One sample for each limit. */
const amountsOf = (budget: string, amounts: object, limits: object): Sample[] =>
  Object.keys(limits).map((unit) => [{ budget, unit }, Number(amounts[unit as keyof object] ?? 0)])

const channelGauges = (accounts: ReturnType<MetricsDeps['channels']>): string[][] => [
  gauge(
    'svc_gateway_channel_connected',
    'Whether a channel account is connected.',
    accounts.map(({ channel, accountId, state }) => [{ channel, account: accountId }, Number(state === 'connected')]),
  ),
  gauge(
    'svc_gateway_channel_state',
    'The state of a channel account.',
    accounts.map(({ channel, accountId, state }) => stateOf({ channel, account: accountId, state })),
  ),
]

const jobStates = (jobs: ReturnType<MetricsDeps['jobs']>): Sample[] =>
  jobs.map(({ preset, state }) => stateOf({ preset, state }))

const stateOf = (labels: Labels): Sample => [labels, 1]

const reloadGauges = ({ isSuccessful, succeededAt }: ReturnType<Meters['lastReload']>): string[][] => [
  gauge('svc_gateway_config_last_reload_successful', 'Whether the last reload of the configuration succeeded.', [
    [{}, Number(isSuccessful)],
  ]),
  gauge(
    'svc_gateway_config_last_reload_success_timestamp_seconds',
    'When the configuration was last loaded, in Unix time.',
    [[{}, succeededAt]],
  ),
]

const storeGauges = ({ bytes, free }: { bytes: number; free: number }): string[][] => [
  gauge(
    'svc_gateway_store_bytes',
    'Size of the store, used and free.',
    samplesBy('state', { used: bytes - free, free }),
  ),
]

const samplesBy = (label: string, counts: object): Sample[] =>
  Object.entries(counts).map(([name, value]) => [{ [label]: name }, Number(value)])

const processMetrics = (): string[][] => [
  family({ type: 'counter', name: 'process_cpu_seconds_total', help: 'CPU time.' }, [[{}, cpuSeconds()]]),
  gauge('process_resident_memory_bytes', 'Resident memory.', [[{}, process.memoryUsage.rss()]]),
  gauge('process_start_time_seconds', 'Start time of the process, in Unix time.', [
    [{}, Date.now() / 1000 - process.uptime()],
  ]),
]

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

type LoopDelay = ReturnType<typeof monitorEventLoopDelay>

function monitorLoop(): LoopDelay {
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  return loop
}

/** One metric per quantile, because a summary would also need a sum. */
function lagGauges(loop: LoopDelay): string[][] {
  const quantiles = [
    ['svc_gateway_event_loop_lag_p50_seconds', 50, 'Median'],
    ['svc_gateway_event_loop_lag_p99_seconds', 99, '99th percentile'],
    ['svc_gateway_event_loop_lag_max_seconds', 100, 'Maximum'],
  ] as const
  const gauges = quantiles.map(([name, percent, what]) =>
    gauge(name, `${what} event loop delay since the last scrape.`, [
      [{}, loop.count ? loop.percentile(percent) / 1e9 : 0],
    ]),
  )
  loop.reset()
  return gauges
}

const gauge = (name: string, help: string, samples: readonly Sample[]): string[] =>
  family({ type: 'gauge', name, help }, samples)
