// Tests that a gateway that is killed within a turn continues it: no completed call is made again.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { messagesOf, type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer, WireRequest } from '../doubles/wire.ts'
import { type Document, temporaryFolder } from '../helpers.ts'
import { ended, get, post, start } from './process.ts'
import { surviveCrashesInTurns } from './turn-crashes.ts'

/** Each tool writes its name to a file. `hang` and `look` do not end when a file `stay` is there. */
const plugin = `
  import { appendFileSync, existsSync, rmSync } from 'node:fs'
  import { join } from 'node:path'
  const dir = import.meta.dirname
  const tool = (name, fields) => ({
    name, group: 'bench', description: 'A tool.', effects: [], args: { type: 'object', properties: {} },
    execute: async () => {
      appendFileSync(join(dir, 'calls.txt'), name + '\\n')
      if (name !== 'add' && existsSync(join(dir, 'stay'))) await new Promise(() => {})
      return name
    },
    ...fields,
  })
  export default {
    kind: 'toolset', name: 'bench', description: 'A bench.',
    tools: [tool('add'), tool('hang'), tool('look', { repeatable: true })],
  }`

async function setUp() {
  const [model, dir] = [await startModel(), temporaryFolder()]
  writeFileSync(join(dir, 'bench.mjs'), plugin)
  writeFileSync(join(dir, 'calls.txt'), '')
  const config: Document = {
    providers: model.providers,
    plugins: ['./bench.mjs'],
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    tools: { byOrigin: { hook: { allow: ['group:bench'] } } },
  }
  const calls = () => readFileSync(join(dir, 'calls.txt'), 'utf8').split('\n').filter(Boolean)
  return { model, dir, config, calls }
}

const run = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }

const rolesOf = (request: WireRequest) => messagesOf(request).map(({ role }) => role)

/** Lets the model answer each run with its own answers, in their order, and then hang. Runs are told by their message. */
function scriptRuns(model: ModelServer, answers: Record<string, Answer[]>) {
  const isOf = (message: string) => (request: WireRequest) => JSON.stringify(request.body).includes(message)
  model.otherwise((request) => {
    const [, own] = Object.entries(answers).find(([message]) => isOf(message)(request)) ?? []
    return own?.shift() ?? { hang: true }
  })
  return {
    requestsOf: (message: string) => model.requests.filter(isOf(message)),
    start: async (url: string, message: string): Promise<string> =>
      (await post(url, ['agent', { ...run, message }])).body.runId,
  }
}

const stepsOf = async (url: string, runId: string) => (await get(url, `/runs/${runId}/steps`)).body.items

describe('a gateway that is killed', () => {
  it('while the model answers continues after the last call that completed, and counts all tokens', async () => {
    const { model, dir, config, calls } = await setUp()
    const gateway = await start(dir, config)
    const runs = scriptRuns(model, {
      'Succeed.': [{ tool: 'add', args: {} }, { hang: true }, { text: 'Done.' }],
      'Fail.': [{ tool: 'add', args: {} }, { hang: true }, { status: 400, body: { error: { message: 'no' } } }],
    })
    const [runId, failing] = [await runs.start(gateway.url, 'Succeed.'), await runs.start(gateway.url, 'Fail.')]
    for (const message of ['Succeed.', 'Fail.']) await expect.poll(() => runs.requestsOf(message)).toHaveLength(2)
    await gateway.end('SIGKILL')
    const again = await start(dir, config)
    expect(await ended(again.url, failing)).toMatchObject({ status: 'failed', usage: { steps: 1, totalTokens: 70 } })
    expect(await ended(again.url, runId)).toMatchObject({
      status: 'succeeded',
      reply: 'Done.',
      usage: { steps: 2 },
      attempts: [{ reason: 'interrupted' }, {}],
    })
    expect(calls()).toEqual(['add', 'add'])
    const requests = runs.requestsOf('Succeed.')
    expect(requests).toHaveLength(3)
    expect(rolesOf(requests[2]!)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(await stepsOf(again.url, runId)).toMatchObject([
      { kind: 'model', attempt: 1 },
      { tool: 'add', attempt: 1, status: 'succeeded' },
      { kind: 'model', attempt: 2, text: 'Done.' },
    ])
  })

  it('while tools are called makes those again that may be repeated, and tells the model of the others', async () => {
    const { model, dir, config, calls } = await setUp()
    writeFileSync(join(dir, 'stay'), '')
    const gateway = await start(dir, config)
    model.script({ calls: ['add', 'hang', 'look'].map((tool) => ({ tool, args: {} })) }, { text: 'Done.' })
    const { runId } = (await post(gateway.url, ['agent', run])).body
    await expect.poll(async () => (await stepsOf(gateway.url, runId))[1]?.status).toBe('succeeded')
    await expect.poll(calls).toHaveLength(3)
    await gateway.end('SIGKILL')
    writeFileSync(join(dir, 'bench.mjs'), plugin.replace("existsSync(join(dir, 'stay'))", 'false'))
    const again = await start(dir, config)
    expect(await ended(again.url, runId)).toMatchObject({ status: 'succeeded', reply: 'Done.' })
    expect(calls().toSorted()).toEqual(['add', 'hang', 'look', 'look'])
    expect(model.requests).toHaveLength(2)
    const results = messagesOf(await model.request(1)).filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([
      'add',
      'The gateway was interrupted during this call, so its outcome is not known. It may have taken effect; check ' +
        'before you repeat it.',
      'look',
    ])
    expect(await stepsOf(again.url, runId)).toMatchObject([
      { kind: 'model' },
      { tool: 'add', status: 'succeeded', attempt: 1 },
      { tool: 'hang', status: 'interrupted', attempt: 1 },
      { tool: 'look', status: 'succeeded', attempt: 2 },
      { kind: 'model', text: 'Done.' },
    ])
  })

  it('again and again ends a run only if it never gets further', async () => {
    const { model, dir, config, calls } = await setUp()
    const further = Array.from({ length: 3 }, (): Answer[] => [{ tool: 'add', args: {} }, { hang: true }]).flat()
    const runs = scriptRuns(model, { 'Go on.': [...further, { text: 'Done.' }], 'Hang.': [] })
    let gateway = await start(dir, config)
    const [runId, hanging] = [await runs.start(gateway.url, 'Go on.'), await runs.start(gateway.url, 'Hang.')]
    for (let times = 1; times <= 3; times++) {
      await expect.poll(() => runs.requestsOf('Go on.')).toHaveLength(2 * times)
      await expect.poll(() => runs.requestsOf('Hang.')).toHaveLength(Math.min(times, 2))
      await gateway.end('SIGKILL')
      gateway = await start(dir, config)
    }
    expect(await ended(gateway.url, runId)).toMatchObject({ status: 'succeeded', reply: 'Done.' })
    expect(calls()).toHaveLength(3)
    expect(await ended(gateway.url, hanging)).toMatchObject({
      status: 'failed',
      error: { type: 'interrupted', message: expect.stringContaining('2 times in a row') },
    })
  })
})

// `test/long/turn-crash.test.ts` has the many kills.
it('makes no completed call again when it is killed at a random point of turns', async () => {
  const { runs } = await surviveCrashesInTurns({ kills: 1, maxAttempts: 10 })
  expect(runs).toBeGreaterThan(0)
})

describe('a gateway that is stopped', () => {
  it('before a call of a tool has ended does as if it had been killed', async () => {
    const { model, dir, config, calls } = await setUp()
    writeFileSync(join(dir, 'stay'), '')
    const gateway = await start(dir, { ...config, gateway: { drainSeconds: 0 } })
    model.script({ tool: 'hang', args: {} }, { text: 'Done.' })
    const { runId } = (await post(gateway.url, ['agent', run])).body
    await expect.poll(calls).toHaveLength(1)
    await gateway.end('SIGTERM')
    const again = await start(dir, config)
    expect(await ended(again.url, runId)).toMatchObject({ reply: 'Done.', attempts: [{ reason: 'stopped' }, {}] })
    expect(calls()).toEqual(['hang'])
    expect(await stepsOf(again.url, runId)).toMatchObject([{}, { tool: 'hang', status: 'interrupted' }, {}])
  })
})
