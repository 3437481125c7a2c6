// Kills gateways at random points between the question and the end of an approved call, and checks that each call was
// made once, or was interrupted: never twice, and never unapproved. The tool counts its calls itself.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { chooseSeed, createRandom } from '../config/random.ts'
import { messagesOf, startModel } from '../doubles/model.ts'
import type { WireRequest } from '../doubles/wire.ts'
import { ask, gatewayToken, type GatewayProcess, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { ended, get, post } from './process.ts'

/** Appends a line for each call, waits, and returns. Repeatable, which an approved call must not be. */
const plugin = `
  import { appendFileSync } from 'node:fs'
  import { join } from 'node:path'
  import { setTimeout as delay } from 'node:timers/promises'
  export default {
    kind: 'toolset', name: 'bench', description: 'A bench.',
    tools: [{
      name: 'mark', group: 'bench', description: 'Makes a mark.', effects: [], repeatable: true,
      args: { type: 'object', properties: { turn: { type: 'string' } } },
      execute: async ({ turn }) => {
        appendFileSync(join(import.meta.dirname, 'marks.txt'), turn + '\\n')
        await delay(15)
        return 'marked'
      },
    }],
  }`

interface Crashes {
  kills: number
  /** The gateways share a database. Absent: one gateway with a store of its own. */
  databaseUrl?: string
  gateways?: number
  /** How long a gateway lives: at least this, and up to 600 ms longer. */
  lifeMs?: number
}

interface Turn {
  turn: string
  runId: string
}

export async function surviveCrashesOfApprovals({ kills, databaseUrl, gateways = 1, lifeMs = 300 }: Crashes) {
  const random = createRandom(chooseSeed())
  const [model, dir] = [await startModel(), temporaryFolder()]
  model.otherwise(answer)
  writeFileSync(join(dir, 'marks.txt'), '')
  writeFileSync(join(dir, 'bench.mjs'), plugin)
  const files = Array.from({ length: gateways }, (_, index) => {
    const own = join(dir, String(index))
    mkdirSync(own)
    return writeConfig(own, {
      providers: model.providers,
      plugins: [join(dir, 'bench.mjs')],
      agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, maxConcurrent: 48, maxAttempts: 9 } },
      tools: { byOrigin: { hook: { ask: ['mark'] } } },
      channels: { console: { file: join(dir, 'console.jsonl'), defaultTo: 'console' } },
      hooks: { allowRequestSessionKey: true },
      log: { level: 'error' },
      ...(databaseUrl !== undefined && { storage: { url: databaseUrl } }),
    })
  })
  const running = await Promise.all(files.map((file) => spawnGateway(file)))
  onTestFinished(async () => void (await Promise.all(running.map((gateway) => gateway.end('SIGKILL')))))

  const url = () => running[Math.floor(random() * running.length)]?.url ?? ''
  const [stopPosting, stopAnswering] = [new AbortController(), new AbortController()]
  const turns: Turn[] = []
  const posting = Array.from({ length: gateways === 1 ? 4 : 16 }, (_, session) =>
    postUntil(stopPosting.signal, { session, url, turns }),
  )
  const answering = answerUntil(stopAnswering.signal, { url, random })
  for (let kill = 0; kill < kills; kill++) {
    const index = kill % gateways
    const begun = model.requests.length
    await delay(lifeMs + random() * 600)
    // On a busy machine, gateways that are killed all the time would never get further.
    await expect.poll(() => model.requests.length, { timeout: 60_000 }).toBeGreaterThan(begun)
    await running[index]?.end('SIGKILL')
    running[index] = await spawnGateway(files[index] as string)
  }
  stopPosting.abort()
  await Promise.all(posting)
  const [last] = running as [GatewayProcess]
  for (const { runId } of turns) {
    const run = await ended(last.url, runId)
    // Shows the whole run, whose attempts say why it has failed.
    if (run.status !== 'succeeded') expect({ runId, ...run }).toEqual({ status: 'succeeded' })
  }
  stopAnswering.abort()
  await answering

  const marks = readFileSync(join(dir, 'marks.txt'), 'utf8').split('\n').filter(Boolean)
  const counts = { runs: turns.length, approved: 0, denied: 0, interrupted: 0 }
  for (const { turn, runId } of turns) {
    const steps = (await get(last.url, `/runs/${runId}/steps`)).body.items
    const [approval, ...others] = (await get(last.url, `/api/approvals?runId=${runId}`)).body.items
    const made = marks.filter((mark) => mark === turn).length
    const { status } = steps[1]
    expect([turn, others]).toEqual([turn, []])
    if (approval.status === 'denied') expect([turn, status, made]).toEqual([turn, 'refused', 0])
    else if (status === 'interrupted') expect([turn, approval.status, made <= 1]).toEqual([turn, 'approved', true])
    else expect([turn, approval.status, status, made]).toEqual([turn, 'approved', 'succeeded', 1])
    counts[status === 'interrupted' ? 'interrupted' : (approval.status as 'approved' | 'denied')]++
  }
  return counts
}

/** Asks for one call, and then ends the turn. */
function answer(request: WireRequest) {
  const messages = messagesOf(request)
  const start = messages.findLastIndex(({ role }) => role === 'user')
  const [, turn = ''] = /<(\d+-\d+)>/.exec(messages[start]?.content ?? '') ?? []
  const isAnswered = messages.slice(start).some(({ role }) => role === 'tool')
  return isAnswered ? { text: 'Done.' } : { tool: 'mark', args: { turn } }
}

async function postUntil(
  signal: AbortSignal,
  { session, url, turns }: { session: number; url: () => string; turns: Turn[] },
): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const turn = `${session}-${n}`
    const body = { message: `<${turn}>`, sessionKey: `hook:${session}`, wakeMode: 'next-heartbeat', deliver: false }
    const runId = await untilAlive(async () => {
      const { status, body: reply } = await post(url(), ['agent', body, { 'idempotency-key': turn }])
      return status === 200 ? (reply.runId as string) : undefined
    })
    turns.push({ turn, runId })
    await untilAlive(() => ended(url(), runId))
  }
}

/** Approves most of the calls that wait, and denies the others. */
async function answerUntil(
  signal: AbortSignal,
  { url, random }: { url: () => string; random: () => number },
): Promise<void> {
  const headers = { authorization: `Bearer ${gatewayToken}` }
  while (!signal.aborted) {
    const list = await get(url(), '/api/approvals?status=waiting').catch(() => undefined)
    for (const { id } of list?.body?.items ?? []) {
      const verb = random() < 0.8 ? 'approve' : 'deny'
      await ask(`${url()}/api/approvals/${id}/${verb}`, { method: 'POST', body: '{}', headers }).catch(() => undefined)
    }
    await delay(10)
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
