// npm run bench: compares the gateway with bare Fastify in interleaved rounds. `--quick` is shorter and less precise;
// `--save` writes the baseline; `--channels` measures the memory of the channels instead, `--postgres` gateways on
// PostgreSQL, and `--beside <folder>` this checkout beside another one, also on PostgreSQL.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Measured, median, type Report, report } from './report.ts'
import { createRounds } from './rounds.ts'
import { startBare, startGateway, startLoaded } from './servers.ts'
import { bareTarget, crowdedTarget, gatewayTargets } from './targets.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    channels: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    beside: { type: 'string' },
  },
})
const plan = options.quick
  ? { rounds: 3, seconds: 0.7, runUp: 0.2, warmUp: 1, starts: 3 }
  : { rounds: 9, seconds: 0.6, runUp: 0.2, warmUp: 2, starts: 5 }
const connections = [1, 16, 64]

const dir = mkdtempSync(join(tmpdir(), 'svc-gateway-bench-'))
const rounds = createRounds(plan)
try {
  const { beside: folder, postgres: isPostgres } = options
  if (folder !== undefined) await (await import('./beside.ts')).benchBeside({ dir, folder, isPostgres })
  // Loads the library of every channel.
  else if (options.channels) await (await import('./channels.ts')).benchChannels(dir, plan.starts)
  else if (isPostgres) await (await import('./postgres.ts')).benchPostgres(dir, rounds)
  else report(await measure(), options)
} finally {
  rounds.close()
  rmSync(dir, { recursive: true, force: true })
}

async function measure(): Promise<Report> {
  const starts = await measureStarts()
  const [bare, gateway] = [await startBare(), await startLoaded(mkdtempSync(join(dir, 'load-')), 1)]
  const crowded = await startLoaded(mkdtempSync(join(dir, 'crowd-')), 1000)
  const targets = [bareTarget(bare), ...gatewayTargets(gateway), crowdedTarget(crowded)]
  await rounds.warmUp(targets)
  const full: Measured[] = []
  for (const count of connections) full.push(...(await rounds.measure(targets, { connections: count })))
  // Uses the same rate for all, half of what the slowest can do, so that only the latency differs.
  const rate = Math.min(...full.filter((row) => row.connections === 64).map((row) => row.perSecond)) / 2
  const half = await rounds.measure(targets, { connections: 64, rate })
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
