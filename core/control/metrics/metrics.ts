// Renders the metrics for Prometheus: counters since the start, and gauges of the current state.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Store } from '../../store/store.ts'
import { type Counter, type Histogram, labels } from './counters.ts'
import type { Meters } from './meters.ts'
import { readVersion } from '../version.ts'

export interface Metrics {
  /** Returns all metrics in the Prometheus text format. */
  read(): Promise<string>
  close(): void
}

interface MetricsDeps {
  meters: Meters
  store: Pick<Store, 'getLiveCounts' | 'getSpace'>
  channels: () => readonly { channel: string; accountId: string; state: string }[]
  jobs: () => readonly { preset: string; state: string }[]
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMetrics({ meters, store, channels, jobs }: MetricsDeps): Metrics {
  // It needs a timer, so it starts with the first scrape.
  let lag: LoopDelay | undefined

  return {
    read: async () => {
      const [{ runs, deliveries, schedules }, { bytes, free }] = await Promise.all([
        store.getLiveCounts(),
        store.getSpace(),
      ])
      const { reload } = meters
      const lines = [
        family('svc_gateway_info', 'gauge The running version.', [[`version="${readVersion()}"`, 1]]),
        family(
          'svc_gateway_http_requests_total',
          'counter Answered requests, by route group and status.',
          meters.httpRequests,
        ),
        histogram('svc_gateway_accept_seconds', 'Time from accepting work until it is stored.', meters.accepts),
        family('svc_gateway_webhook_requests_total', 'counter Webhook requests, by status.', meters.webhookRequests),
        family('svc_gateway_runs', 'gauge Runs that are queued or running.', byStatus(runs)),
        family('svc_gateway_runs_accepted_total', 'counter Accepted runs, by kind.', meters.runs.accepted),
        family('svc_gateway_runs_ended_total', 'counter Ended runs, by kind and status.', meters.runs.ended),
        histograms('svc_gateway_run_seconds', 'Duration of runs, by agent and model.', meters.runs.seconds),
        family(
          'svc_gateway_run_failures_total',
          'counter Failed and timed out runs, by agent, model and error type.',
          meters.runs.failures,
        ),
        family('svc_gateway_model_tokens_total', 'counter Model tokens, by agent, model and type.', meters.runs.tokens),
        family(
          'svc_gateway_tool_calls_total',
          'counter Tool calls of agents, by tool and outcome.',
          meters.steps.toolCalls,
        ),
        histograms('svc_gateway_model_call_seconds', 'Duration of model calls, by model.', meters.steps.modelCalls),
        histograms(
          'svc_gateway_model_first_token_seconds',
          'Time from a model call to the first part of its answer, by model.',
          meters.steps.firstToken,
        ),
        histogram('svc_gateway_run_steps', 'Steps of a run.', meters.steps.stepsPerRun),
        histogram(
          'svc_gateway_run_queued_seconds',
          'Time from accepting a run to its first attempt.',
          meters.steps.queued,
        ),
        family('svc_gateway_deliveries', 'gauge Unsent deliveries in the outbox, by status.', byStatus(deliveries)),
        family('svc_gateway_delivery_attempts_total', 'counter Delivery attempts, by result.', meters.deliveries),
        family('svc_gateway_channel_connected', 'gauge Whether a channel account is connected.', connected(channels())),
        family('svc_gateway_channel_state', 'gauge The state of a channel account.', stateOf(channels())),
        family('svc_gateway_preset_job_state', 'gauge The state of the job of a preset.', jobStates(jobs())),
        family('svc_gateway_schedules', 'gauge Number of schedules.', [['', schedules.count]]),
        family(
          'svc_gateway_schedule_next_timestamp_seconds',
          'gauge When the next schedule fires, in Unix time.',
          secondsOf(schedules.nextAt),
        ),
        family('svc_gateway_schedule_firings_total', 'counter Firings of schedules.', meters.firings),
        family(
          'svc_gateway_config_last_reload_successful',
          'gauge Whether the last reload of the configuration succeeded.',
          [['', Number(reload.isSuccessful)]],
        ),
        family(
          'svc_gateway_config_last_reload_success_timestamp_seconds',
          'gauge When the configuration was last loaded, in Unix time.',
          [['', reload.succeededAt]],
        ),
        family('svc_gateway_config_reloads_total', 'counter Configuration reloads, by result.', reload.total),
        histogram('svc_gateway_store_commit_operations', 'Operations per commit.', meters.commits),
        family(
          'svc_gateway_store_bytes',
          'gauge Size of the store, used and free.',
          byState({ used: bytes - free, free }),
        ),
        family('svc_gateway_store_purged_total', 'counter Purged records, by kind.', meters.purged),
        ...lagFamilies((lag ??= monitorLoop())),
        family('process_cpu_seconds_total', 'counter CPU time.', [['', cpuSeconds()]]),
        family('process_resident_memory_bytes', 'gauge Resident memory.', [['', process.memoryUsage.rss()]]),
        family('process_start_time_seconds', 'gauge Start time of the process, in Unix time.', [
          ['', Date.now() / 1000 - process.uptime()],
        ]),
      ]
      return `${lines.flat().join('\n')}\n`
    },
    close: () => void lag?.disable(),
  }
}

type LoopDelay = ReturnType<typeof monitorEventLoopDelay>

type Samples = Iterable<readonly [label: string, value: number]>

function family(name: string, typeAndHelp: string, samples: Samples | Counter): string[] {
  const [type, ...help] = typeAndHelp.split(' ')
  const lines = Array.from(samples, ([label, value]) => `${name}${label && `{${label}}`} ${value}`)
  return [`# HELP ${name} ${help.join(' ')}`, `# TYPE ${name} ${type}`, ...lines]
}

const histogram = (name: string, help: string, values: Histogram): string[] => histograms(name, help, [['', values]])

function histograms(
  name: string,
  help: string,
  samples: Iterable<readonly [label: string, values: Histogram]>,
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...Array.from(samples, (sample) => buckets(name, ...sample)).flat(),
  ]
}

/** Renders cumulative buckets: each one also counts the values of those before it. */
function buckets(name: string, label: string, { bounds, counts, sum }: Histogram): string[] {
  let total = 0
  const [labelSet, prefix] = label ? [`{${label}}`, `${label},`] : ['', '']
  const rows = [...bounds, '+Inf'].map(
    (bound, index) => `${name}_bucket{${prefix}le="${bound}"} ${(total += counts[index] ?? 0)}`,
  )
  return [...rows, `${name}_sum${labelSet} ${sum}`, `${name}_count${labelSet} ${total}`]
}

const connected = (states: ReturnType<MetricsDeps['channels']>): Samples =>
  states.map(
    ({ channel, accountId, state }) =>
      [labels({ channel, account: accountId }), Number(state === 'connected')] as const,
  )

const stateOf = (states: ReturnType<MetricsDeps['channels']>): Samples =>
  states.map(({ channel, accountId, state }) => [labels({ channel, account: accountId, state }), 1] as const)

/** No sample when there is no such time. */
const secondsOf = (at: number | null): Samples => (at === null ? [] : [['', at / 1000]])

const samplesBy =
  (label: string) =>
  (counts: object): Samples =>
    Object.entries(counts).map(([name, value]) => [`${label}="${name}"`, Number(value)] as const)
const [byStatus, byState] = [samplesBy('status'), samplesBy('state')]

function monitorLoop(): LoopDelay {
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  return loop
}

/** One metric per quantile, because a summary would also need a sum. */
function lagFamilies(loop: LoopDelay): string[][] {
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

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const jobStates = (states: ReturnType<MetricsDeps['jobs']>): Samples =>
  states.map(({ preset, state }) => [labels({ preset, state }), 1] as const)
