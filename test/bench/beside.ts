// Measures this checkout beside another one: the same load at the same time, so that the machine affects both alike.
import { mkdtempSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createDatabase, startPostgres } from '../postgres.ts'
import { median, round } from './report.ts'
import { createRounds, type Target } from './rounds.ts'
import type { Server } from './servers.ts'
import { gatewayTargets, hookTarget } from './targets.ts'

type Servers = Pick<typeof import('./servers.ts'), 'startLoaded' | 'startOnStore'>

const plan = { rounds: 15, seconds: 3, runUp: 0.2, warmUp: 4 }

/** A rate that a fourth of the machine can answer, because both take turns with their load generators. */
const shape = { connections: 64, rate: 1000 }

interface BesideOptions {
  dir: string
  /** The other checkout, which is built and has its packages. */
  folder: string
  isPostgres: boolean
}

export async function benchBeside({ dir, folder, isPostgres }: BesideOptions): Promise<void> {
  const builds = await Promise.all(
    [resolve(folder), resolve(import.meta.dirname, '../..')].map(
      async (checkout) => (await import(join(checkout, 'test/bench/servers.ts'))) as Servers,
    ),
  )
  const rounds = createRounds(plan)
  const postgres = isPostgres ? await startPostgres() : undefined
  const servers: Server[] = []
  try {
    for (const { startLoaded, startOnStore } of builds) {
      const home = mkdtempSync(join(dir, 'beside-'))
      const start = async (url: string) => await startOnStore(home, (await createDatabase(url)).url)
      servers.push(await (postgres ? start(postgres.url) : startLoaded(home, 1)))
    }
    const targetsOf = (server: Server): Target[] =>
      postgres ? [hookTarget('wake', [server]), hookTarget('agent', [server])] : gatewayTargets(server)
    const [others, ours] = servers.map(targetsOf) as [Target[], Target[]]
    await rounds.warmUp([...others, ...ours])
    for (const [index, other] of others.entries())
      print(other.name, await rounds.measureBeside([other, ours[index] as Target], shape))
  } finally {
    rounds.close()
    await Promise.all(servers.map((server) => server.stop()))
    await postgres?.remove()
  }
}

function print(name: string, ratios: number[]): void {
  const sorted = ratios.toSorted((a, b) => a - b)
  const quartile = (quarters: number): string => round(sorted[Math.floor((sorted.length * quarters) / 4)] ?? Number.NaN)
  const spread = `(quartiles ${quartile(1)} and ${quartile(3)})`
  process.stdout.write(`${name}: ${round(median(ratios))} times the CPU time of the other checkout ${spread}\n`)
}
