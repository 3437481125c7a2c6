// Renders the metrics for Prometheus: counters since the start, and gauges of the current state.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Budgets } from '../../budgets/budgets.ts'
import { type BudgetView, viewBudget } from '../../budgets/view.ts'
import type { Store } from '../../store/store.ts'
import { readVersion } from '../../version.ts'
import { labels } from './counters.ts'
import type { Meters } from './meters.ts'
import { family, histogram, histograms, type Samples } from './text-format.ts'

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
      const families = [
        ...requestFamilies(meters),
        ...runFamilies(meters, counts),
        ...modelFamilies(meters),
        ...budgetFamilies(tallies.map(viewBudget)),
        ...approvalFamilies(meters, counts),
        ...deliveryFamilies(meters, counts),
        ...channelFamilies(channels()),
        family('svc_gateway_preset_job_state', 'gauge The state of the job of a preset.', jobStates(jobs())),
        ...scheduleFamilies(meters, counts),
        ...reloadFamilies(meters),
        ...storeFamilies(meters, space),
        ...lagFamilies((lag ??= monitorLoop())),
        ...processFamilies(),
      ]
      return `${families.flat().join('\n')}\n`
    },
    close: () => void lag?.disable(),
  }
}

type LiveCounts = Awaited<ReturnType<MetricsDeps['store']['getLiveCounts']>>
type Families = string[][]

const requestFamilies = ({ httpRequests, accepts, webhookRequests }: Meters): Families => [
  family('svc_gateway_info', 'gauge The running version.', [[`version="${readVersion()}"`, 1]]),
  family('svc_gateway_http_requests_total', 'counter Answered requests, by route group and status.', httpRequests),
  histogram('svc_gateway_accept_seconds', 'Time from accepting work until it is stored.', accepts),
  family('svc_gateway_webhook_requests_total', 'counter Webhook requests, by status.', webhookRequests),
]

const runFamilies = ({ runs }: Meters, counts: LiveCounts): Families => [
  family('svc_gateway_runs', 'gauge Runs that are queued or running, or wait for an approval.', byStatus(counts.runs)),
  family('svc_gateway_runs_accepted_total', 'counter Accepted runs, by kind.', runs.accepted),
  family('svc_gateway_runs_ended_total', 'counter Ended runs, by kind and status.', runs.ended),
  histograms('svc_gateway_run_seconds', 'Duration of runs, by agent and model.', runs.seconds),
  family(
    'svc_gateway_run_failures_total',
    'counter Failed and timed out runs, by agent, model and error type.',
    runs.failures,
  ),
]

const modelFamilies = ({ runs, steps }: Meters): Families => [
  family('svc_gateway_model_tokens_total', 'counter Model tokens, by agent, model, hook and type.', runs.tokens),
  family(
    'svc_gateway_model_cost_usd_total',
    'counter Cost of models in US dollars, by agent, model and hook.',
    runs.cost,
  ),
  family(
    'svc_gateway_model_unpriced_calls_total',
    'counter Model calls without a known price, by agent, model and hook.',
    runs.unpriced,
  ),
  family('svc_gateway_tool_calls_total', 'counter Tool calls of agents, by tool and outcome.', steps.toolCalls),
  histograms('svc_gateway_model_call_seconds', 'Duration of model calls, by model.', steps.modelCalls),
  histograms(
    'svc_gateway_model_first_token_seconds',
    'Time from a model call to the first part of its answer, by model.',
    steps.firstToken,
  ),
  histogram('svc_gateway_run_steps', 'Steps of a run.', steps.stepsPerRun),
  histogram('svc_gateway_run_queued_seconds', 'Time from accepting a run to its first attempt.', steps.queued),
]

const budgetFamilies = (budgets: readonly BudgetView[]): Families => [
  family(
    'svc_gateway_budget_used',
    'gauge What was used of a budget in its window, by unit.',
    budgets.flatMap(({ key, used, limits }) => amountsOf(key, used, limits)),
  ),
  family(
    'svc_gateway_budget_limit',
    'gauge The limit of a budget, by unit.',
    budgets.flatMap(({ key, limits }) => amountsOf(key, limits, limits)),
  ),
]

/** One sample for each limit. */
const amountsOf = (budget: string, amounts: object, limits: object): (readonly [string, number])[] =>
  Object.keys(limits).map((unit) => [labels({ budget, unit }), Number(amounts[unit as keyof object] ?? 0)] as const)

const approvalFamilies = (meters: Meters, { approvals }: LiveCounts): Families => [
  family('svc_gateway_approvals_waiting', 'gauge Tool calls that wait for an approval.', [['', approvals]]),
  family('svc_gateway_approvals_total', 'counter Ended approvals, by outcome.', meters.approvals),
]

const deliveryFamilies = (meters: Meters, { deliveries }: LiveCounts): Families => [
  family('svc_gateway_deliveries', 'gauge Unsent deliveries in the outbox, by status.', byStatus(deliveries)),
  family('svc_gateway_delivery_attempts_total', 'counter Delivery attempts, by result.', meters.deliveries),
]

const channelFamilies = (accounts: ReturnType<MetricsDeps['channels']>): Families => [
  family(
    'svc_gateway_channel_connected',
    'gauge Whether a channel account is connected.',
    accounts.map(({ channel, accountId, state }) => [
      labels({ channel, account: accountId }),
      Number(state === 'connected'),
    ]),
  ),
  family(
    'svc_gateway_channel_state',
    'gauge The state of a channel account.',
    accounts.map(({ channel, accountId, state }) => [labels({ channel, account: accountId, state }), 1]),
  ),
]

const jobStates = (jobs: ReturnType<MetricsDeps['jobs']>): Samples =>
  jobs.map(({ preset, state }) => [labels({ preset, state }), 1])

const scheduleFamilies = ({ firings }: Meters, { schedules }: LiveCounts): Families => [
  family('svc_gateway_schedules', 'gauge Number of schedules.', [['', schedules.count]]),
  family(
    'svc_gateway_schedule_next_timestamp_seconds',
    'gauge When the next schedule fires, in Unix time.',
    schedules.nextAt === null ? [] : [['', schedules.nextAt / 1000]],
  ),
  family('svc_gateway_schedule_firings_total', 'counter Firings of schedules.', firings),
]

const reloadFamilies = ({ reload }: Meters): Families => [
  family('svc_gateway_config_last_reload_successful', 'gauge Whether the last reload of the configuration succeeded.', [
    ['', Number(reload.isSuccessful)],
  ]),
  family(
    'svc_gateway_config_last_reload_success_timestamp_seconds',
    'gauge When the configuration was last loaded, in Unix time.',
    [['', reload.succeededAt]],
  ),
  family('svc_gateway_config_reloads_total', 'counter Configuration reloads, by result.', reload.total),
]

const storeFamilies = ({ commits, purged }: Meters, { bytes, free }: { bytes: number; free: number }): Families => [
  histogram('svc_gateway_store_commit_operations', 'Operations per commit.', commits),
  family('svc_gateway_store_bytes', 'gauge Size of the store, used and free.', byState({ used: bytes - free, free })),
  family('svc_gateway_store_purged_total', 'counter Purged records, by kind.', purged),
]

const processFamilies = (): Families => [
  family('process_cpu_seconds_total', 'counter CPU time.', [['', cpuSeconds()]]),
  family('process_resident_memory_bytes', 'gauge Resident memory.', [['', process.memoryUsage.rss()]]),
  family('process_start_time_seconds', 'gauge Start time of the process, in Unix time.', [
    ['', Date.now() / 1000 - process.uptime()],
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
function lagFamilies(loop: LoopDelay): Families {
  const quantiles = [
    ['svc_gateway_event_loop_lag_p50_seconds', 50, 'Median'],
    ['svc_gateway_event_loop_lag_p99_seconds', 99, '99th percentile'],
    ['svc_gateway_event_loop_lag_max_seconds', 100, 'Maximum'],
  ] as const
  const families = quantiles.map(([name, percent, what]) =>
    family(name, `gauge ${what} event loop delay since the last scrape.`, [
      ['', loop.count ? loop.percentile(percent) / 1e9 : 0],
    ]),
  )
  loop.reset()
  return families
}

const samplesBy =
  (label: string) =>
  (counts: object): Samples =>
    Object.entries(counts).map(([name, value]) => [`${label}="${name}"`, Number(value)] as const)
const [byStatus, byState] = [samplesBy('status'), samplesBy('state')]
