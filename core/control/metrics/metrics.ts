// What the gateway tells Prometheus: counts since the start, and how things stand at this moment.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Store } from '../../store/store.ts'
import { type Counter, type Histogram, labels } from './counters.ts'
import type { Meters } from './meters.ts'
import { readVersion } from '../version.ts'

export interface Metrics {
  /** Everything in the text format of Prometheus. */
  read(): Promise<string>
  close(): void
}

interface MetricsDeps {
  meters: Meters
  store: Pick<Store, 'getLiveCounts' | 'getSpace'>
  channels: () => readonly { channel: string; accountId: string; state: string }[]
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMetrics({ meters, store, channels }: MetricsDeps): Metrics {
  // It costs a timer, so it runs from the first question on.
  let lag: LoopDelay | undefined

  return {
    read: async () => {
      const [{ runs, deliveries, schedules }, { bytes, free }] = await Promise.all([
        store.getLiveCounts(),
        store.getSpace(),
      ])
      const { reload } = meters
      const lines = [
        family('svc_gateway_info', 'gauge The version that runs.', [[`version="${readVersion()}"`, 1]]),
        family(
          'svc_gateway_http_requests_total',
          'counter Answered requests, by route group and status.',
          meters.httpRequests,
        ),
        histogram('svc_gateway_accept_seconds', 'Time from accepting to being on disk.', meters.accepts),
        family(
          'svc_gateway_webhook_requests_total',
          'counter Requests to the hooks, by what became of them.',
          meters.webhookRequests,
        ),
        family('svc_gateway_runs', 'gauge Runs that wait or are under way.', byStatus(runs)),
        family('svc_gateway_runs_accepted_total', 'counter Runs that were accepted, by kind.', meters.runs.accepted),
        family('svc_gateway_runs_ended_total', 'counter Runs that ended, by kind and status.', meters.runs.ended),
        histograms(
          'svc_gateway_run_seconds',
          'Time from the begin of a run to its end, by agent and model.',
          meters.runs.seconds,
        ),
        family(
          'svc_gateway_run_failures_total',
          'counter Runs that failed or timed out, by agent, model and type of the error.',
          meters.runs.failures,
        ),
        family(
          'svc_gateway_model_tokens_total',
          'counter Tokens of models, by agent, model and type.',
          meters.runs.tokens,
        ),
        family('svc_gateway_deliveries', 'gauge Deliveries in the outbox that are not sent.', byStatus(deliveries)),
        family(
          'svc_gateway_delivery_attempts_total',
          'counter Attempts to send a delivery, by what they came to.',
          meters.deliveries,
        ),
        family(
          'svc_gateway_channel_connected',
          'gauge Whether an account of a channel is connected.',
          connected(channels()),
        ),
        family('svc_gateway_schedules', 'gauge Schedules of agents.', [['', schedules.count]]),
        family(
          'svc_gateway_schedule_next_timestamp_seconds',
          'gauge When the next schedule fires, since 1970.',
          secondsOf(schedules.nextAt),
        ),
        family('svc_gateway_schedule_firings_total', 'counter Schedules that fired.', meters.firings),
        family(
          'svc_gateway_config_last_reload_successful',
          'gauge Whether the configuration in the file is in force.',
          [['', Number(reload.isSuccessful)]],
        ),
        family(
          'svc_gateway_config_last_reload_success_timestamp_seconds',
          'gauge When it came into force, since 1970.',
          [['', reload.succeededAt]],
        ),
        family('svc_gateway_config_reloads_total', 'counter Reloads of the configuration, by result.', reload.total),
        histogram('svc_gateway_store_commit_operations', 'Operations that shared one commit.', meters.commits),
        family(
          'svc_gateway_store_bytes',
          'gauge Size of the store, by whether anything stands there.',
          byState({ used: bytes - free, free }),
        ),
        family(
          'svc_gateway_store_purged_total',
          'counter What was purged because it was old, or room was short.',
          meters.purged,
        ),
        ...lagFamilies((lag ??= watchLoop())),
        family('process_cpu_seconds_total', 'counter Processor time.', [['', cpuSeconds()]]),
        family('process_resident_memory_bytes', 'gauge Memory.', [['', process.memoryUsage.rss()]]),
        family('process_start_time_seconds', 'gauge Time of the start, since 1970.', [
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

function family(name: string, about: string, samples: Samples | Counter): string[] {
  const [type, ...help] = about.split(' ')
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

/** Buckets count what is no larger than their bound: each holds those before it, too. */
function buckets(name: string, label: string, { bounds, counts, sum }: Histogram): string[] {
  let total = 0
  const [own, before] = label ? [`{${label}}`, `${label},`] : ['', '']
  const rows = [...bounds, '+Inf'].map(
    (bound, index) => `${name}_bucket{${before}le="${bound}"} ${(total += counts[index] ?? 0)}`,
  )
  return [...rows, `${name}_sum${own} ${sum}`, `${name}_count${own} ${total}`]
}

const connected = (states: ReturnType<MetricsDeps['channels']>): Samples =>
  states.map(
    ({ channel, accountId, state }) =>
      [labels({ channel, account: accountId }), Number(state === 'connected')] as const,
  )

/** Nothing where there is no such time. */
const secondsOf = (at: number | null): Samples => (at === null ? [] : [['', at / 1000]])

const by =
  (label: string) =>
  (counts: object): Samples =>
    Object.entries(counts).map(([name, value]) => [`${label}="${name}"`, Number(value)] as const)
const [byStatus, byState] = [by('status'), by('state')]

function watchLoop(): LoopDelay {
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  return loop
}

/** Names of their own, since only a summary has quantiles, and that would need a sum. */
function lagFamilies(loop: LoopDelay): string[][] {
  const extensions = [
    ['svc_gateway_event_loop_lag_p50_seconds', 50, 'Median'],
    ['svc_gateway_event_loop_lag_p99_seconds', 99, '99th percentile'],
    ['svc_gateway_event_loop_lag_max_seconds', 100, 'Maximum'],
  ] as const
  const families = extensions.map(([name, percent, what]) =>
    family(name, `gauge ${what} of the delay of the event loop since the last scrape.`, [
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
