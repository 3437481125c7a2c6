// Kills gateways at random points of turns with tool calls, and checks that no completed call was made again. The tool
// and the model count the calls, so a mistake of the store cannot hide one.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { chooseSeed, createRandom } from '../config/random.ts'
import { messagesOf, type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer, WireRequest } from '../doubles/wire.ts'
import { type Document, type GatewayProcess, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { ended, get, post } from './process.ts'

/** Tool calls in each turn: the third call of the model asks for two at once. */
const callsPerTurn = 5
const callsOfStep = [[1], [2], [3, 4], [5]]

/** Appends a line for each call, waits, and returns. It must not be called twice. */
const plugin = `
  import { appendFileSync } from 'node:fs'
  import { join } from 'node:path'
  import { setTimeout as delay } from 'node:timers/promises'
  export default {
    kind: 'toolset', name: 'bench', description: 'A bench.',
    tools: [{
      name: 'mark', group: 'bench', description: 'Makes a mark.', effects: [],
      args: { type: 'object', properties: { turn: { type: 'string' }, call: { type: 'integer' } } },
      execute: async ({ turn, call }) => {
        appendFileSync(join(import.meta.dirname, 'marks.txt'), turn + ' ' + call + '\\n')
        await delay(10)
        return 'marked ' + call
      },
    }],
  }`

interface Crashes {
  kills: number
  /** The gateways share a database. Absent: one gateway with a store of its own. */
  databaseUrl?: string
  gateways?: number
  /** How often a run may be interrupted in a row before its first step. */
  maxAttempts?: number
  /** How long a gateway lives: at least this, and up to 600 ms longer. */
  lifeMs?: number
}

/** @returns how many runs succeeded, how many calls were interrupted, and how often an attempt was interrupted */
export async function surviveCrashesInTurns({
  kills,
  databaseUrl,
  gateways = 1,
  maxAttempts = 2,
  lifeMs = 200,
}: Crashes) {
  const random = createRandom(chooseSeed())
  // A run of a killed gateway waits for its lease, so more of them must be under way.
  const sessions = gateways === 1 ? 4 : 24
  const [model, dir] = [await startModel(), temporaryFolder()]
  const progress = createProgress()
  model.otherwise((request) => progress.answer(request))
  writeFileSync(join(dir, 'marks.txt'), '')
  const files = Array.from({ length: gateways }, (_, index) =>
    writeGateway(join(dir, String(index)), dir, { model, apiKey: keyOf(index), databaseUrl, maxAttempts }),
  )
  const running = await Promise.all(files.map((file) => spawnGateway(file)))
  onTestFinished(async () => void (await Promise.all(running.map((gateway) => gateway.end('SIGKILL')))))

  const stop = new AbortController()
  const runIds: string[] = []
  const url = () => running[Math.floor(random() * running.length)]?.url ?? ''
  const posting = Array.from({ length: sessions }, (_, session) => postUntil(stop.signal, { session, url, runIds }))
  for (let kill = 0; kill < kills; kill++) {
    const index = kill % gateways
    const requests = () => progress.requestsWith(keyOf(index))
    const begun = requests()
    await delay(lifeMs + random() * 600)
    // On a busy machine, a gateway that is killed all the time would never get further with the runs that it holds.
    await expect.poll(requests, { timeout: 60_000 }).toBeGreaterThan(begun + sessions)
    await running[index]?.end('SIGKILL')
    running[index] = await spawnGateway(files[index] as string)
  }
  stop.abort()
  await Promise.all(posting)

  const [last] = running as [GatewayProcess]
  const runs = await mapInBatches(runIds, (runId) => ended(last.url, runId))
  expect(runs.filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(progress.setbacks).toEqual([])
  const marks = readFileSync(join(dir, 'marks.txt'), 'utf8').trim().split('\n')
  expect(marks.filter((mark, index) => marks.indexOf(mark) !== index)).toEqual([])
  const steps = await mapInBatches(runIds, (runId) => stepsOf(last.url, runId))
  for (const one of steps) expect(one.map(({ kind }) => kind).join()).toBe(kindsOfTurn)
  const interrupted = steps.flat().filter(({ status }) => status === 'interrupted').length
  return { runs: runIds.length, interrupted, attempts: progress.attempts() }
}

/** Thousands of connections at once would be reset. */
async function mapInBatches<Item, Result>(items: readonly Item[], map: (item: Item) => Promise<Result>) {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += 100)
    results.push(...(await Promise.all(items.slice(from, from + 100).map(map))))
  return results
}

const kindsOfTurn = callsOfStep
  .flatMap((calls) => ['model', ...calls.map(() => 'tool')])
  .concat('model')
  .join()

const stepsOf = async (url: string, runId: string): Promise<{ kind: string; status: string }[]> =>
  (await get(url, `/runs/${runId}/steps?limit=200`)).body.items

/** Tells the model which gateway asks. */
const keyOf = (index: number): string => `key-of-gateway-${index}`

interface GatewayOptions {
  model: ModelServer
  apiKey: string
  databaseUrl: string | undefined
  maxAttempts: number
}

function writeGateway(own: string, dir: string, { model, apiKey, databaseUrl, maxAttempts }: GatewayOptions): string {
  mkdirSync(own)
  writeFileSync(join(dir, 'bench.mjs'), plugin)
  const changes: Document = {
    providers: { double: { ...(model.providers['double'] as object), apiKey } },
    plugins: [join(dir, 'bench.mjs')],
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, maxConcurrent: 48, maxAttempts } },
    tools: { byOrigin: { hook: { allow: ['mark'] } } },
    channels: { console: { file: join(dir, 'console.jsonl'), defaultTo: 'console' } },
    hooks: { allowRequestSessionKey: true },
    log: { level: 'error' },
    ...(databaseUrl !== undefined && { storage: { url: databaseUrl } }),
  }
  return writeConfig(own, changes)
}

interface Poster {
  session: number
  url: () => string
  runIds: string[]
}

/** Posts one message after another into a session, until the kills are over. */
async function postUntil(signal: AbortSignal, { session, url, runIds }: Poster): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const body = { message: `<${session}-${n}>`, sessionKey: `hook:${session}`, wakeMode: 'next-heartbeat' }
    const key = { 'idempotency-key': `${session}-${n}` }
    const runId = await untilAlive(async () => {
      const { status, body: answer } = await post(url(), ['agent', { ...body, deliver: false }, key])
      return status === 200 ? (answer.runId as string) : undefined
    })
    runIds.push(runId)
    await untilAlive(() => ended(url(), runId))
  }
}

/** A gateway that is killed does not answer. */
async function untilAlive<Result>(request: () => Promise<Result | undefined>): Promise<Result> {
  for (;;) {
    const result = await request().catch(() => undefined)
    if (result !== undefined) return result
    await delay(20)
  }
}

/** Answers as a model that makes the calls of a turn, and watches that no turn goes back. */
function createProgress() {
  const reached = new Map<string, number>()
  const setbacks: string[] = []
  const keys: string[] = []
  return {
    setbacks,
    requestsWith: (key: string) => keys.filter((one) => one === key).length,
    /** Requests beyond those that turns without a crash make. */
    attempts: () => keys.length - reached.size * (callsOfStep.length + 1),
    answer: (request: WireRequest): Answer => {
      keys.push(request.headers.authorization?.replace('Bearer ', '') ?? '')
      const messages = messagesOf(request)
      const start = messages.findLastIndex(({ role }) => role === 'user')
      const [, turn = ''] = /<(\d+-\d+)>/.exec(messages[start]?.content ?? '') ?? []
      const results = messages.slice(start).filter(({ role }) => role === 'tool').length
      const step = messages.slice(start).filter(({ role }) => role === 'assistant').length
      if (results < (reached.get(turn) ?? 0)) setbacks.push(`${turn} went back to ${results} results`)
      reached.set(turn, results)
      const calls = callsOfStep[step]
      return calls
        ? { calls: calls.map((call) => ({ tool: 'mark', args: { turn, call } })) }
        : { text: `Did ${callsPerTurn}.` }
    },
  }
}
