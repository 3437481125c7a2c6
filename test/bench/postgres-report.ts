// Reports the benchmark of gateways on PostgreSQL: a table, and bench.json.
import { type Measured, print, round, type Row, whole, writeJson } from './report.ts'

/** Measurements with 64 connections. */
export interface PostgresReport {
  bare: Measured
  /** With one replica, and with two that share the connections. */
  paths: { path: 'wake' | 'agent'; one: Measured; two: Measured }[]
}

export function reportPostgres(measured: PostgresReport): void {
  print(measured.paths.flatMap((path) => [...rowsBesideBare(measured.bare, path), ...rowsOfTwo(path)]))
  writeJson({ postgres: measured })
}

type Path = PostgresReport['paths'][number]

function rowsBesideBare(bare: Measured, { path, one }: Path): Row[] {
  const what = `${path} on PostgreSQL, ${one.connections} connections:`
  return [
    { ...compare(`${what} requests/s`, bare.perSecond, one.perSecond), aim: path === 'wake' ? '≥ 0.45' : '' },
    compare(`${what} CPU µs/request of the gateway`, bare.cpuMicros, one.cpuMicros),
    compare(`${what} CPU µs/request of PostgreSQL`, bare.cpuMicros, databaseMicros(one)),
    compare(`${what} p50 ms`, bare.p50, one.p50),
    compare(`${what} p99 ms`, bare.p99, one.p99),
  ]
}

/** One replica takes the place of bare Fastify. */
function rowsOfTwo({ path, one, two }: Path): Row[] {
  const what = `${path}, two replicas beside one:`
  return [
    { ...compare(`${what} requests/s`, one.perSecond, two.perSecond), aim: '≥ 1.5' },
    compare(`${what} CPU µs/request of the gateways`, one.cpuMicros, two.cpuMicros),
    compare(`${what} CPU µs/request of PostgreSQL`, databaseMicros(one), databaseMicros(two)),
  ]
}

const databaseMicros = (measured: Measured): number => measured.databaseMicros ?? Number.NaN

const compare = (what: string, before: number, now: number): Row => {
  return { what, bare: whole(before), ours: whole(now), ratio: round(now / before), ship: '', aim: '' }
}
