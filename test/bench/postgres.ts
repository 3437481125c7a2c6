// Measures gateways on a PostgreSQL database beside bare Fastify: one replica, and two that share the load.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase, startPostgres } from '../postgres.ts'
import { type PostgresReport, reportPostgres } from './postgres-report.ts'
import type { Measured } from './report.ts'
import type { Rounds, Target } from './rounds.ts'
import { cpuSecondsOfTree, type Server, startBare, startOnStore } from './servers.ts'
import { bareTarget, hookTarget } from './targets.ts'

const connections = 64

export async function benchPostgres(dir: string, rounds: Rounds): Promise<void> {
  const postgres = await startPostgres()
  const database = { cpuSeconds: () => cpuSecondsOfTree(postgres.process.pid as number) }
  const bare = await startBare()
  const servers = [bare]
  async function startReplicas(count: number): Promise<Server[]> {
    const { url } = await createDatabase(postgres.url)
    const replicas: Server[] = []
    while (replicas.length < count) replicas.push(await startOnStore(mkdtempSync(join(dir, 'replica-')), url))
    servers.push(...replicas)
    return replicas
  }
  try {
    // Each number of replicas has a database of its own, so that a replica that is not measured disturbs nobody.
    const replicas = [await startReplicas(1), await startReplicas(2)]
    const targets: Target[] = [
      bareTarget(bare),
      ...(['wake', 'agent'] as const).flatMap((name) =>
        replicas.map((own) => Object.assign(hookTarget(name, own), { name: nameOf(name, own.length), database })),
      ),
    ]
    await rounds.warmUp(targets)
    reportPostgres(toReport(await rounds.measure(targets, { connections })))
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await postgres.remove()
  }
}

const nameOf = (path: string, replicas: number): string => `${path} ${replicas}`

function toReport(measured: readonly Measured[]): PostgresReport {
  const find = (wanted: string): Measured => measured.find(({ name }) => name === wanted) as Measured
  return {
    bare: find('bare'),
    paths: (['wake', 'agent'] as const).map((path) => ({
      path,
      one: find(nameOf(path, 1)),
      two: find(nameOf(path, 2)),
    })),
  }
}
