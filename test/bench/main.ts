// npm run bench: compares the gateway with bare Fastify in interleaved rounds. `--quick` is shorter and less precise;
// `--save` writes the baseline; `--channels` measures the memory of the channels instead.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Order, Result } from './load.ts'
import { type Measured, median, type Report, report } from './report.ts'
import {
  gatewayToken,
  layeredSession,
  type Server,
  signatureHeader,
  startBare,
  startGateway,
  startLoaded,
  token,
} from './servers.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    channels: { type: 'boolean', default: false },
  },
})
const plan = options.quick
  ? { rounds: 3, seconds: 0.7, runUp: 0.2, warmUp: 1, starts: 3 }
  : { rounds: 9, seconds: 0.6, runUp: 0.2, warmUp: 2, starts: 5 }
const connections = [1, 16, 64]

const dir = mkdtempSync(join(tmpdir(), 'svc-gateway-bench-'))
const load = fork(join(import.meta.dirname, 'load.ts'))
try {
  // Loads the library of every channel.
  if (options.channels) await (await import('./channels.ts')).benchChannels(dir, plan.starts)
  else report(await measure(), options)
} finally {
  load.kill()
  rmSync(dir, { recursive: true, force: true })
}

interface Target extends Pick<Order, 'sign'> {
  name: string
  server: Server
  path: string
  body: string
  token: string
}

async function measure(): Promise<Report> {
  const starts = await measureStarts()
  const [bare, gateway] = [await startBare(), await startLoaded(mkdtempSync(join(dir, 'load-')), 1)]
  const crowded = await startLoaded(mkdtempSync(join(dir, 'crowd-')), 1000)
  const targets: Target[] = [
    { name: 'bare', server: bare, path: '/wake', body: '{"text":"$"}', token },
    { name: 'wake', server: gateway, path: '/hooks/wake', body: '{"text":"$"}', token },
    { name: 'agent', server: gateway, path: '/hooks/agent', body: '{"message":"$"}', token },
    {
      name: 'tool',
      server: gateway,
      path: '/tools/invoke',
      body: `{"tool":"measure","args":{"text":"$"},"sessionKey":"${layeredSession}"}`,
      token: gatewayToken,
    },
    { name: 'mapped', server: gateway, path: '/hooks/mapped', body: '{"text":"$"}', token },
    { name: 'mapped, one of 1000', server: crowded, path: '/hooks/mapped', body: '{"text":"$"}', token },
    {
      name: 'signed',
      server: gateway,
      path: '/hooks/signed',
      body: '{"text":"$"}',
      token,
      sign: { header: signatureHeader, secret: token },
    },
    { name: 'transform', server: gateway, path: '/hooks/transform', body: '{"text":"$"}', token },
  ]
  for (const target of targets) await ask(target, { connections: 16, seconds: plan.warmUp })
  const full: Measured[] = []
  for (const count of connections)
    full.push(...(await interleaved(targets, () => ({ connections: count, seconds: plan.seconds }))))
  // Uses the same rate for all, half of what the slowest can do, so that only the latency differs.
  const rate = Math.min(...full.filter((row) => row.connections === 64).map((row) => row.perSecond)) / 2
  const half = await interleaved(targets, () => ({ connections: 64, seconds: plan.seconds, rate }))
  await Promise.all([bare, gateway, crowded].map((server) => server.stop()))
  return { ...starts, full, half, rate, fdatasyncMs: measureDisk() }
}

async function measureStarts(): Promise<Pick<Report, 'startMs' | 'idleMb'>> {
  const [startMs, idleMb]: [Report['startMs'], Report['idleMb']] = [
    { bare: [], ours: [] },
    { bare: [], ours: [] },
  ]
  for (let round = 0; round < plan.starts; round++) {
    for (const name of ['bare', 'ours'] as const) {
      const server = await (name === 'bare' ? startBare() : startGateway(mkdtempSync(join(dir, 'start-'))))
      startMs[name].push(server.firstAnswerMs)
      // Waits for the garbage collection after the start before it measures the idle memory.
      await new Promise((resolve) => setTimeout(resolve, 1000))
      idleMb[name].push(server.memoryMb())
      await server.stop()
    }
  }
  return { startMs, idleMb }
}

type Shape = Pick<Order, 'connections' | 'seconds' | 'rate'>

/**
 * Measures every target once per round, so that a slow minute of the machine affects all of them. Each has a run-up,
 * because a target that was idle for longer starts slower.
 */
async function interleaved(targets: readonly Target[], shape: () => Shape): Promise<Measured[]> {
  const rounds: { target: Target; result: Result; cpuSeconds: number }[] = []
  for (let round = 0; round < plan.rounds; round++) {
    for (const target of targets) {
      await ask(target, { ...shape(), seconds: plan.runUp })
      const before = target.server.cpuSeconds()
      const result = await ask(target, shape())
      rounds.push({ target, result, cpuSeconds: target.server.cpuSeconds() - before })
    }
  }
  return targets.map((target) => {
    const own = rounds.filter((round) => round.target === target)
    const medianOf = (figure: (round: (typeof own)[number]) => number): number => median(own.map(figure))
    return {
      name: target.name,
      connections: shape().connections,
      perSecond: medianOf(({ result }) => result.requests / result.seconds),
      cpuMicros: medianOf(({ result, cpuSeconds }) => (cpuSeconds / result.requests) * 1e6),
      p50: medianOf(({ result }) => result.p50),
      p99: medianOf(({ result }) => result.p99),
    }
  })
}

async function ask({ name, server, path, body, token, sign }: Target, shape: Shape): Promise<Result> {
  const order: Order = { url: server.url, token, path, body, ...(sign && { sign }), ...shape }
  const { result, error } = await answerTo(load, order)
  if (!result) throw new Error(`${name}: ${error}`)
  return result
}

async function answerTo(child: ChildProcess, order: Order): Promise<{ result?: Result; error?: string }> {
  child.send(order)
  const [answer] = (await once(child, 'message')) as [{ result?: Result; error?: string }]
  return answer
}

/** Measures one durable write of 2 KB. */
function measureDisk(): number {
  const file = openSync(join(dir, 'disk'), 'a')
  const times = Array.from({ length: 200 }, () => {
    const startedAt = performance.now()
    writeSync(file, Buffer.alloc(2048))
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return median(times)
}
