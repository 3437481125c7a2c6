// Starts both servers as separate processes and reads their resource usage from the kernel.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ChannelDouble } from '../doubles/channels.ts'
import { writeBenchTransform } from './sandbox.ts'

export const token = 'token-of-the-bench-0123456789abcdef'
export const gatewayToken = `gateway-${token}`

/** A session to which the policy layers of the configuration, the agent, the group and subagents apply. */
export const layeredSession = 'agent:main:subagent:1:console:group:ops'

export interface Server {
  url: string
  /** From the start of the process to the end of its first response, in milliseconds. */
  firstAnswerMs: number
  /** User and system time of the process and its children so far, in seconds; NaN outside Linux. */
  cpuSeconds(): number
  /** The proportional set size, or the resident set size if that is not available, in MB. */
  memoryMb(): number
  /** The same without its child processes. */
  ownMemoryMb(): number
  stop(): Promise<void>
}

const source = (file: string): string => join(import.meta.dirname, file)

export const startBare = (): Promise<Server> => start({ args: [source('bare.js')], path: '/wake' })

/** Starts the gateway as `npm start` does, with an empty folder as its configuration directory. */
export const startGateway = (dir: string): Promise<Server> => startWith(dir, {})

const unlimitedHooks = { enabled: true, token, maxQueuedRuns: Number.MAX_SAFE_INTEGER }

/**
 * Starts it with a model that never answers, an unlimited queue and every layer of the tool policy. `changes` are
 * further sections.
 */
export const startLoaded = (dir: string, mappings: number, changes: object = {}): Promise<Server> =>
  startWith(dir, {
    hooks: { ...unlimitedHooks, mappings: mappingsOf(dir, mappings) },
    agents: { defaults: { model: 'silent/model' }, main: { tools: { deny: ['cron'] } } },
    tools: {
      profile: 'minimal',
      alsoAllow: ['measure'],
      deny: ['exec'],
      byProvider: { silent: { allow: ['meas*'] } },
      subagents: { tools: { deny: ['write'] } },
    },
    channels: { console: { enabled: false, groups: { ops: { tools: { allow: ['measure'] } } } } },
    providers: { silent: { kind: 'silent' } },
    plugins: [source('silent-provider.ts'), source('cheap-tool.ts')],
    ...changes,
  })

/** Starts it with a model that never answers, on the store with this URL. */
export const startOnStore = (dir: string, url: string): Promise<Server> =>
  startWith(dir, {
    storage: { url },
    hooks: unlimitedHooks,
    agents: { defaults: { model: 'silent/model' } },
    providers: { silent: { kind: 'silent' } },
    plugins: [source('silent-provider.ts')],
  })

/** Starts it with channels that are connected to their doubles. */
export const startChannels = (dir: string, doubles: readonly ChannelDouble[]): Promise<Server> =>
  startWith(
    dir,
    { channels: Object.fromEntries(doubles.map(({ name, settings }) => [name, settings])) },
    doubles.flatMap(({ nodeOptions = [] }) => nodeOptions),
  )

export const signatureHeader = 'x-signature'

/** One mapping of each kind, after this many mappings that never match. */
function mappingsOf(dir: string, count: number): object[] {
  const template = { messageTemplate: '{{ payload.text }}', name: 'measure {{ now }}' }
  return [
    ...Array.from({ length: count - 1 }, (_, index) => ({ match: { path: `other-${index}` }, ...template })),
    { match: { path: 'mapped' }, ...template },
    { match: { path: 'signed' }, ...template, auth: { scheme: 'hmac', header: signatureHeader, secret: token } },
    { match: { path: 'transform' }, transform: { module: writeBenchTransform(dir) } },
  ]
}

async function startWith(dir: string, changes: object, nodeOptions: readonly string[] = []): Promise<Server> {
  const config = {
    gateway: { port: 0, auth: { token: gatewayToken }, drainSeconds: 1 },
    hooks: { enabled: true, token },
    log: { level: 'error' },
    ...changes,
  }
  const file = join(dir, 'gateway.json5')
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  const args = [...nodeOptions, source('../../dist/main.js'), 'start', '--config', file]
  return await start({ args, path: '/hooks/wake' })
}

async function start({ args, path }: { args: readonly string[]; path: string }): Promise<Server> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, BENCH_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // A failed benchmark must leave no process running.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const url = await listening(child)
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"text":"the first one","mode":"next-heartbeat"}',
  })
  if (!answer.ok) throw new Error(`${url}${path} answered ${answer.status}`)
  const firstAnswerMs = performance.now() - begun
  const pid = child.pid as number
  return {
    url,
    firstAnswerMs,
    cpuSeconds: () => cpuSecondsOfTree(pid),
    memoryMb: () => sum(processTree(pid).map(memoryMbOf)),
    ownMemoryMb: () => memoryMbOf(process.platform === 'linux' ? pid : Number.NaN),
    stop: async () => {
      process.off('exit', kill)
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

async function listening(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the server has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url) return url
  }
  throw new Error('the server ended before it listened')
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Returns the process and its descendants. Works only on Linux. */
function processTree(pid: number): number[] {
  if (process.platform !== 'linux') return [Number.NaN]
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap((child) => processTree(Number(child)))]
}

/** The time of the process and its descendants. */
export const cpuSecondsOfTree = (pid: number): number => sum(processTree(pid).map(cpuSecondsOf))

/** The kernel counts in hundredths of a second. */
const ticksPerSecond = 100

function cpuSecondsOf(pid: number): number {
  if (Number.isNaN(pid)) return pid
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

function memoryMbOf(pid: number): number {
  if (Number.isNaN(pid)) return pid
  const pss = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
  const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number((pss ?? rss)?.[1]) / 1024
}
