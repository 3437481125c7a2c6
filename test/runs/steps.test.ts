// Tests the steps of runs over HTTP: what is stored of each call, and what is not.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { login } from '../control/rpc-client.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const secret = 'a-secret-of-the-configuration'

const plugin = `
  import { InputError } from 'svc-gateway/plugin'
  const tool = (name, execute, fields) => ({
    name, group: 'bench', description: 'A tool.', effects: [], args: { type: 'object', properties: {} }, execute, ...fields,
  })
  export default {
    kind: 'toolset', name: 'bench', description: 'A bench.',
    tools: [
      tool('measure', ({ text = '' }) => ({ length: text.length, text })),
      tool('leak', () => 'the password is ${secret}'),
      tool('fail', () => { throw new Error('no disk') }),
      tool('refuse', ({ text }) => { throw new InputError('there is no ' + text + ' for ${secret}') }),
      tool('break', ({ text }) => { throw new Error('no disk for ' + text) }),
    ],
  }`

const wait = { prefer: 'wait=20' }

describe('GET /runs/<id>/steps', () => {
  const shared = share(async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    writeFileSync(join(dir, 'bench.mjs'), plugin)
    const gateway = await startGateway(
      {
        providers: { double: { ...(model.providers['double'] as object), apiKey: secret } },
        plugins: ['./bench.mjs'],
        agents: {
          defaults: {
            model: 'double/m',
            heartbeat: { every: '0' },
            retry: { initialDelaySeconds: 600, maxDelaySeconds: 600 },
          },
        },
        tools: { allow: ['group:bench'] },
        hooks: {
          mappings: [
            { match: { path: 'private' }, messageTemplate: '{{ text }}', wakeMode: 'next-heartbeat', keepBody: false },
          ],
        },
      },
      dir,
    )
    return { model, ...gateway }
  })

  /** Makes a run, and returns its record and its steps. */
  async function run(answers: ModelAnswer[], hook = 'agent') {
    const { model, post, get } = shared()
    model.script(...answers)
    const message = { message: 'Go.', text: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
    const { body } = await post(`/hooks/${hook}`, message, wait)
    const { items } = (await get(`/runs/${body.runId}/steps`)).body
    return { run: (await get(`/runs/${body.runId}`)).body, steps: items, runId: body.runId as string }
  }

  it('lists the calls of the model and of tools in their order, with times, tokens and verdicts', async () => {
    const { run: record, steps } = await run([
      {
        calls: [
          { tool: 'measure', args: { text: 'abc' } },
          { tool: 'exec', args: { command: 'ls' } },
        ],
      },
      { tool: 'fail', args: {} },
      { text: 'Done.' },
    ])
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    const model = { kind: 'model', attempt: 1, status: 'succeeded', model: 'double/m', startedAt: time, endedAt: time }
    const tool = { kind: 'tool', attempt: 1, startedAt: time, endedAt: time }
    expect(steps).toEqual([
      expect.objectContaining({ ...model, number: 1, finishReason: 'tool-calls', firstTokenMs: expect.any(Number) }),
      expect.objectContaining({
        ...tool,
        number: 2,
        status: 'succeeded',
        tool: 'measure',
        args: { text: 'abc' },
        effects: [],
        verdict: 'allow',
        rule: 'tools.allow: "group:bench"',
        result: { length: 3, text: 'abc' },
        resultLength: 25,
      }),
      expect.objectContaining({
        ...tool,
        number: 3,
        status: 'refused',
        tool: 'exec',
        verdict: 'deny',
        error: 'There is no tool with this name; call one of those that you were given.',
      }),
      expect.objectContaining({ ...model, number: 4 }),
      expect.objectContaining({
        ...tool,
        number: 5,
        status: 'failed',
        tool: 'fail',
        error: "The tool failed. See the gateway's log.",
        thrown: 'Error: no disk',
      }),
      expect.objectContaining({ ...model, number: 6, text: 'Done.', finishReason: 'stop' }),
    ])
    expect(record.usage).toMatchObject({ steps: 3, outputTokens: 60 })
    expect(record.attempts).toEqual([{ startedAt: record.startedAt, endedAt: record.endedAt }])
    expect(record.queuedMs).toBeGreaterThanOrEqual(0)
  })

  it('is paged', async () => {
    const { runId } = await run([{ tool: 'measure', args: {} }, { text: 'Done.' }])
    const page = async (query: string) => (await shared().get(`/runs/${runId}/steps?limit=2${query}`)).body
    const first = await page('')
    expect(first).toMatchObject({ items: [{ number: 1 }, { number: 2 }], next: '2' })
    const second = await page(`&cursor=${first.next}`)
    expect(second).toEqual({ items: [expect.objectContaining({ number: 3 })] })
  })

  it('cuts long arguments and results, and says how long they were', async () => {
    const { steps } = await run([{ tool: 'measure', args: { text: 'x'.repeat(70_000) } }, { text: 'Done.' }])
    expect(steps[1].args).toMatch(/^\{"text":"x{60000}.*\n\[cut: 70011 characters in all\]$/s)
    expect(steps[1].args.length).toBeLessThan(66_000)
    expect(steps[1].result).toContain('[cut: ')
    expect(steps[1].resultLength).toBeGreaterThan(70_000)
  })

  it('has no secret of the configuration', async () => {
    const { steps } = await run([{ tool: 'leak', args: { text: secret } }, { text: `I read ${secret}.` }])
    expect(steps[1]).toMatchObject({ args: { text: '[redacted]' }, result: 'the password is [redacted]' })
    expect(steps[2].text).toBe('I read [redacted].')
    expect(JSON.stringify(steps)).not.toContain(secret)
  })

  it('has no secret of the configuration in an error or in the name of a tool', async () => {
    const { steps } = await run([
      { tool: 'refuse', args: { text: 'report' } },
      { tool: `no_${secret}`, args: {} },
      { text: 'Done.' },
    ])
    expect(steps[1]).toMatchObject({ status: 'failed', error: 'there is no report for [redacted]' })
    expect(steps[3]).toMatchObject({ status: 'refused', tool: 'no_[redacted]' })
  })

  it('has no secret of the configuration in a call of the model that failed, nor has the error of its run', async () => {
    const { model, post, get } = shared()
    const body = { error: { message: `The prompt "${hookToken}" is not allowed.` } }
    const unavailable = { status: 503, headers: { 'retry-after-ms': '1' }, body }
    model.script({ status: 400, body }, unavailable, unavailable, unavailable)
    const send = async () => {
      const request = { message: 'Go.', model: `double/${secret}`, deliver: false, wakeMode: 'next-heartbeat' }
      const { runId } = (await post('/hooks/agent', request)).body
      await expect.poll(async () => (await get(`/runs/${runId}`)).body.error).toBeDefined()
      return { run: (await get(`/runs/${runId}`)).body, steps: (await get(`/runs/${runId}/steps`)).body.items }
    }
    const refused = await send()
    expect(refused.run).toMatchObject({
      status: 'failed',
      error: { type: 'model_failed', detail: expect.stringContaining('The prompt "[redacted]" is not allowed.') },
    })
    expect(refused.steps).toMatchObject([{ kind: 'model', status: 'failed', model: 'double/[redacted]' }])
    const retried = await send()
    expect(retried.run).toMatchObject({ status: 'queued', error: { detail: expect.stringContaining('[redacted]') } })
    expect(retried.run.error.detail).not.toContain(hookToken)
    const authorization = { authorization: `Bearer ${gatewayToken}` }
    expect((await post(`/api/runs/${retried.run.id}/cancel`, {}, authorization)).status).toBe(200)
  })

  it('has nothing of what was said where the hook keeps no bodies', async () => {
    const args = { text: 'private' }
    const { run: record, steps } = await run(
      [{ tool: 'measure', args }, { tool: 'refuse', args }, { tool: 'break', args }, { text: 'Done.' }],
      'private',
    )
    const tools = steps.filter(({ kind }: { kind: string }) => kind === 'tool')
    expect(tools).toMatchObject([
      { tool: 'measure', status: 'succeeded' },
      { tool: 'refuse', status: 'failed' },
      { tool: 'break', status: 'failed' },
    ])
    const said = ['args', 'result', 'text', 'error', 'thrown']
    for (const step of steps) for (const key of said) expect(step).not.toHaveProperty(key)
    expect(JSON.stringify(steps)).not.toContain('private')
    expect(record).not.toHaveProperty('toolErrors')
  })

  it('ends with the call of the model in which the run failed', async () => {
    const { run: record, steps } = await run([
      { tool: 'measure', args: {} },
      { status: 400, body: { error: { message: 'no' } } },
    ])
    expect(record).toMatchObject({ status: 'failed', usage: { steps: 1 } })
    expect(steps).toMatchObject([
      {},
      {},
      { kind: 'model', status: 'failed', error: "The model's service answered 400." },
    ])
  })

  it('returns 404 for an unknown run', async () => {
    expect(await shared().get('/runs/unknown/steps')).toMatchObject({
      status: 404,
      body: { error: { type: 'run_not_found' } },
    })
  })

  it('is shown live: a step when it begins and when it has ended', async () => {
    const { call, notifications, until } = await login(shared().url)
    await call('subscribe', { topics: ['step'] })
    const { run: record } = await run([{ tool: 'measure', args: { text: 'abc' } }, { text: 'Done.' }])
    await until(({ params }) => params.number === 3 && params.status === 'succeeded')
    const seen = notifications.map(({ params }) => params)
    expect(seen.map(({ number, status }) => [number, status])).toEqual([
      [1, 'running'],
      [1, 'succeeded'],
      [2, 'running'],
      [2, 'succeeded'],
      [3, 'running'],
      [3, 'succeeded'],
    ])
    const { id: runId, sessionKey } = record
    expect(seen[2]).toMatchObject({ runId, sessionKey, tool: 'measure', args: { text: 'abc' } })
    for (const one of seen) expect(one).not.toHaveProperty('result')
  })
})
