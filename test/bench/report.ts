// Reports the benchmark: a table of ratios with our limits and goals, bench.json, and regressions since the baseline.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

/** Medians over the rounds of one kind. Latencies are in milliseconds. */
export interface Measured {
  /** `bare`, or the name of a path of the gateway. */
  name: string
  connections: number
  perSecond: number
  /** User and system time per request, of all processes of the server, in microseconds. */
  cpuMicros: number
  /** The same of the database, if it has processes of its own. */
  databaseMicros?: number
  p50: number
  p99: number
}

interface Pair {
  bare: number[]
  ours: number[]
}

export interface Report {
  /** The time until the first response. */
  startMs: Pair
  idleMb: Pair
  /** Connections that send as soon as they have a response. */
  full: Measured[]
  /** A fixed rate, the same for all. */
  half: Measured[]
  /** The fixed rate, in requests per second. */
  rate: number
  /** The median time of one bare durable write. */
  fdatasyncMs: number
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

export function report(measured: Report, { save }: { save: boolean }): void {
  const rows = [...loadRows(measured), ...latencyRows(measured), ...processRows(measured)]
  print(rows)
  const cpuRatios = Object.fromEntries(ratiosOf(measured.full).map(({ key, cpu }) => [key, round(cpu)]))
  writeJson({ cpuRatios, ...measured })
  compare(cpuRatios)
  if (save) writeFileSync(baselineFile, `${JSON.stringify(cpuRatios, null, 2)}\n`)
}

export const writeJson = (figures: object): void =>
  writeFileSync(
    'bench.json',
    `${JSON.stringify({ node: process.version, cpus: cpus().length, ...figures }, null, 2)}\n`,
  )

export interface Row {
  what: string
  bare: string
  ours: string
  ratio: string
  /** The limit that we promise, and the goal. */
  ship: string
  aim: string
}

interface Ratio {
  key: string
  bare: Measured
  ours: Measured
  /** The ratio of the gateway to bare Fastify. */
  throughput: number
  cpu: number
}

function ratiosOf(measured: readonly Measured[]): Ratio[] {
  return measured
    .filter(({ name }) => name !== 'bare')
    .map((ours) => {
      const bare = measured.find(
        ({ name, connections }) => name === 'bare' && connections === ours.connections,
      ) as Measured
      return {
        key: `${ours.name} ${ours.connections}`,
        bare,
        ours,
        throughput: ours.perSecond / bare.perSecond,
        cpu: ours.cpuMicros / bare.cpuMicros,
      }
    })
}

/** The limits for 64 connections: share of bare Fastify's rate, multiple of its CPU time. */
const goals: Record<string, { ship: [rate: string, cpu: string]; aim: [rate: string, cpu: string] }> = {
  'wake 64': { ship: ['≥ 0.60', '≤ 2.0'], aim: ['≥ 0.90', '≤ 1.5'] },
  'agent 64': { ship: ['≥ 0.50', ''], aim: ['≥ 0.80', ''] },
  'tool 64': { ship: ['≥ 0.60', ''], aim: ['≥ 0.90', ''] },
  'mapped 64': { ship: ['≥ 0.50', ''], aim: ['≥ 0.80', ''] },
  'signed 64': { ship: ['≥ 0.50', ''], aim: ['≥ 0.80', ''] },
  'transform 64': { ship: ['≥ 0.30', ''], aim: ['≥ 0.60', ''] },
}

function loadRows({ full }: Report): Row[] {
  return ratiosOf(full).flatMap(({ key, bare, ours, throughput, cpu }) => {
    const { ship, aim } = goals[key] ?? { ship: ['', ''], aim: ['', ''] }
    const what = `${ours.name}, ${ours.connections} connection${ours.connections === 1 ? '' : 's'}`
    return [
      {
        what: `${what}: requests/s`,
        bare: whole(bare.perSecond),
        ours: whole(ours.perSecond),
        ratio: round(throughput),
        ship: ship[0],
        aim: aim[0],
      },
      {
        what: `${what}: CPU µs/request`,
        bare: whole(bare.cpuMicros),
        ours: whole(ours.cpuMicros),
        ratio: round(cpu),
        ship: ship[1],
        aim: aim[1],
      },
    ]
  })
}

function latencyRows({ full, half, rate, fdatasyncMs }: Report): Row[] {
  const alone = ratiosOf(full.filter(({ connections }) => connections === 1))
  const beyond = alone
    .filter(({ ours }) => ours.name !== 'tool')
    .map(({ bare, ours }) => ({
      what: `${ours.name}, alone: p50 ms beyond one durable write (${round(fdatasyncMs)} ms)`,
      bare: round(bare.p50),
      ours: round(ours.p50),
      ratio: `+${round(ours.p50 - fdatasyncMs)}`,
      ship: ours.name === 'wake' ? '≤ 0.5' : '',
      aim: ours.name === 'wake' ? '≤ 0.2' : '',
    }))
  const tails = (ratios: Ratio[], load: string, goal: Pick<Row, 'ship' | 'aim'>): Row[] =>
    ratios.flatMap(({ bare, ours }) => [
      {
        what: `${ours.name}, ${load}: p50 ms`,
        bare: round(bare.p50),
        ours: round(ours.p50),
        ratio: round(ours.p50 / bare.p50),
        ship: '',
        aim: '',
      },
      {
        what: `${ours.name}, ${load}: p99 ms`,
        bare: round(bare.p99),
        ours: round(ours.p99),
        ratio: round(ours.p99 / bare.p99),
        ...goal,
      },
    ])
  return [
    ...beyond,
    ...tails(alone, 'alone', { ship: '', aim: '' }),
    ...tails(ratiosOf(half), `${whole(rate)}/s`, { ship: '≤ 4', aim: '≤ 2' }),
  ]
}

function processRows({ startMs, idleMb }: Report): Row[] {
  const [bareStart, oursStart, bareIdle, oursIdle] = [startMs.bare, startMs.ours, idleMb.bare, idleMb.ours].map(
    median,
  ) as [number, number, number, number]
  return [
    {
      what: 'start: ms to the first answer',
      bare: whole(bareStart),
      ours: whole(oursStart),
      ratio: round(oursStart / bareStart),
      ship: '≤ 1.5',
      aim: '',
    },
    {
      what: 'idle memory: MB',
      bare: whole(bareIdle),
      ours: whole(oursIdle),
      ratio: round(oursIdle / bareIdle),
      ship: '≤ 90 MB',
      aim: '≤ 60 MB',
    },
  ]
}

export const whole = (value: number): string => String(Math.round(value))
export const round = (value: number): string => value.toFixed(2)

export function print(rows: readonly Row[]): void {
  const head: Row = { what: '', bare: 'bare Fastify', ours: 'ours', ratio: 'ratio', ship: 'promised', aim: 'aimed' }
  const columns = Object.keys(head) as (keyof Row)[]
  const widths = columns.map((column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  for (const row of [head, ...rows]) {
    const cells = columns.map((column, index) =>
      index === 0 ? row[column].padEnd(widths[index] ?? 0) : row[column].padStart(widths[index] ?? 0),
    )
    process.stdout.write(`${cells.join('  ')}\n`)
  }
}

const baselineFile = join(import.meta.dirname, 'baseline.json')

/** Compares only CPU time per request, which varies less than elapsed time on a shared machine. */
const tolerated = 1.15

function compare(cpuRatios: Readonly<Record<string, string>>): void {
  if (!existsSync(baselineFile)) return
  const baseline = JSON.parse(readFileSync(baselineFile, 'utf8')) as Record<string, string>
  for (const [key, before] of Object.entries(baseline)) {
    const now = cpuRatios[key]
    if (now !== undefined && Number(now) > Number(before) * tolerated)
      process.stdout.write(`regression: ${key} connections takes ${now} times bare Fastify's CPU, before ${before}\n`)
  }
}
