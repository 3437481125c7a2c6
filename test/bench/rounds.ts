// Measures targets in interleaved rounds, with one load generator for each server of a target.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Order, Result } from './load.ts'
import { type Measured, median } from './report.ts'
import type { Server } from './servers.ts'

export interface Target extends Pick<Order, 'sign'> {
  name: string
  /** The connections are split over all of them. */
  servers: readonly Server[]
  path: string
  body: string
  token: string
  /** The database behind the servers, if it has processes of its own. */
  database?: Pick<Server, 'cpuSeconds'>
}

export interface Plan {
  rounds: number
  /** The length of one measurement. */
  seconds: number
  /** The length of the load before each measurement, because a target that was idle starts slower. */
  runUp: number
  /** The length of the load before the first round. */
  warmUp: number
}

export type Shape = Pick<Order, 'connections' | 'seconds' | 'rate'>

export interface Rounds {
  warmUp(targets: readonly Target[]): Promise<void>
  /** Measures every target once per round, so that a slow minute of the machine affects all of them. */
  measure(targets: readonly Target[], shape: Omit<Shape, 'seconds'>): Promise<Measured[]>
  /**
   * Measures two targets at the same time, so that every moment of the machine affects both alike.
   * @returns for each round, the CPU time per request of the second divided by that of the first
   */
  measureBeside(targets: readonly [Target, Target], shape: Omit<Shape, 'seconds'>): Promise<number[]>
  close(): void
}

export function createRounds(plan: Plan): Rounds {
  const loads: ChildProcess[] = []
  const loadOf = (index: number): ChildProcess => (loads[index] ??= fork(join(import.meta.dirname, 'load.ts')))

  /** `firstLoad`: the index of the load generator of the first server. */
  async function ask(target: Target, { connections, ...shape }: Shape, firstLoad = 0): Promise<Result> {
    const { name, servers, path, body, token, sign } = target
    const results = servers.map(async ({ url }, index) => {
      const order = { url, token, path, body, ...(sign && { sign }), ...shape }
      return await answerTo(loadOf(firstLoad + index), { ...order, connections: connections / servers.length })
    })
    return combine(
      (await Promise.all(results)).map(({ result, error }) => {
        if (!result) throw new Error(`${name}: ${error}`)
        return result
      }),
    )
  }

  async function sample(target: Target, shape: Omit<Shape, 'seconds'>, firstLoad = 0): Promise<Sample> {
    await ask(target, { ...shape, seconds: plan.runUp }, firstLoad)
    const before = cpuSecondsOf(target)
    const result = await ask(target, { ...shape, seconds: plan.seconds }, firstLoad)
    return { target, result, before, after: cpuSecondsOf(target) }
  }

  return {
    warmUp: async (targets) => {
      for (const target of targets) await ask(target, { connections: 16, seconds: plan.warmUp })
    },
    measure: async (targets, shape) => {
      const samples: Sample[] = []
      for (let round = 0; round < plan.rounds; round++)
        for (const target of targets) samples.push(await sample(target, shape))
      return targets.map((target) => summarize(samples, target, shape.connections))
    },
    measureBeside: async ([first, second], shape) => {
      const ratios: number[] = []
      while (ratios.length < plan.rounds) {
        const both = [sample(first, shape), sample(second, shape, first.servers.length)] as const
        const [one, other] = await Promise.all(both)
        ratios.push(cpuMicrosOf(other, 'servers') / cpuMicrosOf(one, 'servers'))
      }
      return ratios
    },
    close: () => loads.forEach((load) => load.kill()),
  }
}

interface Cpu {
  servers: number
  database: number
}

interface Sample {
  target: Target
  result: Result
  before: Cpu
  after: Cpu
}

const cpuSecondsOf = ({ servers, database }: Target): Cpu => ({
  servers: servers.reduce((total, server) => total + server.cpuSeconds(), 0),
  database: database?.cpuSeconds() ?? 0,
})

const cpuMicrosOf = ({ before, after, result }: Sample, of: keyof Cpu): number =>
  ((after[of] - before[of]) / result.requests) * 1e6

function summarize(samples: readonly Sample[], target: Target, connections: number): Measured {
  const own = samples.filter((sample) => sample.target === target)
  const medianOf = (figure: (sample: Sample) => number): number => median(own.map(figure))
  const cpuMicros = (of: keyof Cpu): number => medianOf((sample) => cpuMicrosOf(sample, of))
  return {
    name: target.name,
    connections,
    perSecond: medianOf(({ result }) => result.requests / result.seconds),
    cpuMicros: cpuMicros('servers'),
    ...(target.database && { databaseMicros: cpuMicros('database') }),
    p50: medianOf(({ result }) => result.p50),
    p99: medianOf(({ result }) => result.p99),
  }
}

/** The latencies of several servers are those of the slowest. */
const combine = (results: readonly Result[]): Result => ({
  requests: results.reduce((total, { requests }) => total + requests, 0),
  seconds: Math.max(...results.map(({ seconds }) => seconds)),
  p50: Math.max(...results.map(({ p50 }) => p50)),
  p99: Math.max(...results.map(({ p99 }) => p99)),
})

async function answerTo(child: ChildProcess, order: Order): Promise<{ result?: Result; error?: string }> {
  child.send(order)
  const [answer] = (await once(child, 'message')) as [{ result?: Result; error?: string }]
  return answer
}
