// What the gateway tells Prometheus: counts since the start, and how things stand at this moment.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Store } from '../store/store.ts'
import type { Counter, Histogram, Meters } from './meters.ts'
import { readVersion } from './version.ts'

export interface Metrics {
  /** Everything in the text format of Prometheus. */
  read(): Promise<string>
  close(): void
}

interface MetricsDeps {
  meters: Meters
  store: Pick<Store, 'liveCounts' | 'space'>
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMetrics({ meters, store }: MetricsDeps): Metrics {
  // It costs a timer, so it runs from the first question on.
  let lag: LoopDelay | undefined

  return {
    read: async () => {
      const [{ runs, messages }, { bytes, free }] = await Promise.all([store.liveCounts(), store.space()])
      const lines = [
        family('svc_gateway_info', 'gauge The version that runs.', [[`version="${readVersion()}"`, 1]]),
        family('svc_gateway_http_requests_total', 'counter Answered requests, by door and status.', meters.requests),
        histogram('svc_gateway_accept_seconds', 'Time from accepting to being on disk.', meters.accepts),
        family('svc_gateway_deliveries_total', 'counter Requests to the hooks, by what became of them.', meters.deliveries),
        family('svc_gateway_runs', 'gauge Runs that wait or are under way.', byStatus(runs)),
        family('svc_gateway_runs_ended_total', 'counter Runs that ended, by how.', meters.runs),
        family('svc_gateway_messages', 'gauge Messages in the outbox that are not sent.', byStatus(messages)),
        family('svc_gateway_message_attempts_total', 'counter Attempts to send a message, by what they came to.', meters.messages),
        histogram('svc_gateway_store_commit_operations', 'Operations that shared one commit.', meters.commits),
        family('svc_gateway_store_bytes', 'gauge Size of the store, by whether anything stands there.', byState({ used: bytes - free, free })),
        family('svc_gateway_store_forgotten_total', 'counter What was forgotten because it was old, or room was short.', meters.forgotten),
        family('svc_gateway_event_loop_lag_seconds', 'gauge Delay of the event loop since the last scrape.', lagSamples((lag ??= watchLoop()))),
        family('process_cpu_seconds_total', 'counter Processor time.', [['', cpuSeconds()]]),
        family('process_resident_memory_bytes', 'gauge Memory.', [['', process.memoryUsage.rss()]]),
        family('process_start_time_seconds', 'gauge Time of the start, since 1970.', [['', Date.now() / 1000 - process.uptime()]]),
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

/** Buckets count what is no larger than their bound: each holds those before it, too. */
function histogram(name: string, help: string, { bounds, counts, sum }: Histogram): string[] {
  let total = 0
  const buckets = [...bounds, '+Inf'].map((bound, index) => `${name}_bucket{le="${bound}"} ${(total += counts[index] ?? 0)}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...buckets, `${name}_sum ${sum}`, `${name}_count ${total}`]
}

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

function lagSamples(loop: LoopDelay): Samples {
  const samples = [50, 99, 100].map((percent) => [`quantile="${percent / 100}"`, loop.count ? loop.percentile(percent) / 1e9 : 0] as const)
  loop.reset()
  return samples
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
