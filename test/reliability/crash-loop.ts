// Kills and restarts the gateway repeatedly under load, and checks that it kept everything that it accepted.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { ModelServer } from '../doubles/model.ts'
import { type Document, type GatewayProcess, spawnGateway } from '../helpers.ts'
import { get, post } from './process.ts'

export interface CrashLoop {
  configFile: string
  model: ModelServer
  /** Returns a whole number from 0 up to, but not including, the bound. */
  random: (bound: number) => number
  cycles: number
  clients: number
}

/** The work whose 2xx response was fully read. */
export interface Accepted {
  /** The texts of the wakes. */
  wakes: string[]
  /** The run ids by message text. */
  runs: Map<string, string>
}

/** Agents use the built-in model and reply on the console. The double reads what reaches the main session. */
export const crashConfig = (dir: string, model: ModelServer): Document => ({
  channels: { console: { defaultTo: 'console', file: join(dir, 'console.jsonl') } },
  providers: model.providers,
  // A run that is interrupted many times in a row must still end.
  agents: { defaults: { maxAttempts: 1000, heartbeat: { model: 'double/m' } } },
  log: { level: 'error' },
})

export async function crashLoop({
  configFile,
  model,
  random,
  cycles,
  clients,
}: CrashLoop): Promise<{ accepted: Accepted; gateway: GatewayProcess }> {
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const accepted: Accepted = { wakes: [], runs: new Map() }
  const posting = new AbortController()
  let gateway = await spawnGateway(configFile)
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
  let up = Promise.resolve(gateway.url)
  const work = Array.from({ length: clients }, (_, client) =>
    postUntil(posting.signal, { name: `c${client}`, random, accepted, url: () => up }),
  )
  for (let cycle = 0; cycle < cycles; cycle++) {
    await pause(5 + random(496))
    await gateway.end('SIGKILL')
    const started = spawnGateway(configFile)
    up = started.then(({ url }) => url)
    gateway = await started
  }
  posting.abort()
  await Promise.all(work)
  return { accepted, gateway }
}

interface Client {
  name: string
  /** Returns a whole number from 0 up to, but not including, the bound. */
  random: (bound: number) => number
  accepted: Accepted
  /** Resolves when the gateway listens. */
  url: () => Promise<string>
}

/** Posts one request after another. A request that cannot connect counts as neither accepted nor lost. */
async function postUntil(signal: AbortSignal, { name, random, accepted, url }: Client): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const text = `<${name}-${count}>`
    const isRun = random(10) === 0
    try {
      const answer = await post(
        await url(),
        isRun ? ['agent', { message: text, channel: 'console' }] : ['wake', { text }],
      )
      if (answer.status !== 200) throw new Error(`answered ${answer.status}`)
      if (isRun) accepted.runs.set(text, answer.body.runId)
      else accepted.wakes.push(text)
      await pause(random(20))
    } catch (error) {
      // fetch throws a TypeError for every connection error.
      if (!(error instanceof TypeError)) throw error
      await pause(5)
    }
  }
}

/** The seed determines the pace of the load and the moment of the crash. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Checks that every run succeeded and that its reply was written exactly once. */
export async function expectReplied(url: string, file: string, runs: Accepted['runs']): Promise<void> {
  for (const id of runs.values()) await deliveryOf(url, id)
  const lines = readFileSync(file, 'utf8').split('\n').flatMap(recordOf)
  const keys = lines.map(({ key }) => key)
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  const written = new Map(lines.map(({ key, text }) => [key, text]))
  for (const [text, id] of runs) expect(written.get(`${id}:0:0`)).toContain(text)
}

/** Resolves when the reply of this run is sent. */
async function deliveryOf(url: string, id: string): Promise<void> {
  const run = await get(url, `/runs/${id}`)
  expect(run.status).toBe(200)
  const [delivery] = run.body.deliveries as { status: string }[]
  if (delivery?.status === 'sent') return
  expect([undefined, 'pending']).toContain(delivery?.status)
  await pause(20)
  await deliveryOf(url, id)
}

/** Checks that the main agent has read all of these texts. Events are read in order, so a final event proves it. */
export async function expectRead(url: string, model: ModelServer, texts: Iterable<string>): Promise<void> {
  const missing = new Set(texts)
  await post(url, ['wake', { text: '<the last one>' }])
  for (let read = 0, last = false; !last; read++) {
    const prompt = await model.prompt(read)
    for (const [text] of prompt.matchAll(/<c\d+-\d+>/g)) missing.delete(text)
    last = prompt.includes('<the last one>')
  }
  expect([...missing]).toEqual([])
}

/** A crash may leave an incomplete line, which counts as not written. */
function recordOf(line: string): { key: string; text: string }[] {
  try {
    return [JSON.parse(line) as { key: string; text: string }]
  } catch {
    return []
  }
}
