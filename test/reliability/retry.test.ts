// Tests retries of runs after transient model failures.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'

const quick = { initialDelaySeconds: 0.05, maxDelaySeconds: 0.1 }
const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const wait = { prefer: 'wait=20' }
/** The model library itself repeats a call before the run is retried. */
const failing = (status: number, headers: Record<string, string> = {}): ModelAnswer[] =>
  Array.from({ length: 3 }, () => ({ status, headers: { 'retry-after-ms': '1', ...headers } }))

async function start(
  model: ModelServer,
  {
    dir = temporaryFolder(),
    retry = quick,
    hooks = {},
    ...defaults
  }: { dir?: string; retry?: object; hooks?: Document } & Document = {},
) {
  const agents = { defaults: { model: 'double/m', heartbeat: { every: '0' }, retry, ...defaults } }
  return await startGateway({ providers: model.providers, agents, hooks: { defaultSessionKey: 'one', ...hooks } }, dir)
}

describe('a run with a transient model failure', () => {
  const reasons: [what: string, answers: ModelAnswer[]][] = [
    ['a server error', failing(500)],
    ['too many requests', failing(429)],
    ['a connection that is torn within the answer', [{ drop: true, text: 'well, ' }]],
    ['an answer that breaks off', [{ truncate: true, text: 'well, ' }]],
  ]
  it.each(reasons)('is retried until it succeeds: %s', async (_what, answers) => {
    const model = await startModel()
    model.script(...answers, ...answers, { text: 'at last' })
    const { post } = await start(model, { maxAttempts: 1 })
    expect((await post('/hooks/agent', run, wait)).body).toMatchObject({ status: 'succeeded', reply: 'at last' })
    expect(model.requests).toHaveLength(2 * answers.length + 1)
  })

  it('is retried when the connection to the model is refused', async () => {
    const model = await startModel()
    model.script({ text: 'at last' })
    const dir = temporaryFolder()
    const nowhere = { double: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' } }
    const defaults = {
      model: 'double/m',
      heartbeat: { every: '0' },
      retry: { ...quick, maxDelaySeconds: 60, initialDelaySeconds: 60 },
    }
    const before = await startGateway({ providers: nowhere, agents: { defaults } }, dir)
    const { runId } = (await before.post('/hooks/agent', run)).body
    await expect
      .poll(async () => (await before.get(`/runs/${runId}`)).body, { timeout: 20_000 })
      .toMatchObject({
        status: 'queued',
        error: { type: 'model_failed', message: "The model's service could not be reached." },
        nextAttemptAt: expect.any(String),
      })
  })

  it('is not retried after a permanent failure', async () => {
    const model = await startModel()
    model.script({ status: 400 })
    const { post, get } = await start(model)
    const { body } = await post('/hooks/agent', run, wait)
    expect(body.status).toBe('failed')
    expect((await get(`/runs/${body.runId}`)).body.error.message).toBe("The model's service answered 400.")
  })

  it('fails after agents.defaults.retry.forSeconds, with the duration in its error', async () => {
    const model = await startModel()
    model.script(...failing(500), ...failing(500))
    const { post, get } = await start(model, {
      retry: { forSeconds: 0.1, initialDelaySeconds: 0.1, maxDelaySeconds: 0.1 },
    })
    model.otherwise({ status: 500, headers: { 'retry-after-ms': '1' } })
    const { body } = await post('/hooks/agent', run, wait)
    expect(body.status).toBe('failed')
    expect((await get(`/runs/${body.runId}`)).body.error.message).toMatch(
      /^The model's service answered 500\. The run was tried \d+ times in \d+ seconds\.$/,
    )
  })

  it('is not retried when agents.<id>.retry.forSeconds is 0', async () => {
    const model = await startModel()
    model.script(...failing(500))
    const agents = { defaults: { model: 'double/m', heartbeat: { every: '0' } }, main: { retry: { forSeconds: 0 } } }
    const { post } = await startGateway({ providers: model.providers, agents })
    expect((await post('/hooks/agent', run, wait)).body.status).toBe('failed')
    expect(model.requests).toHaveLength(3)
  })

  it('waits as long as Retry-After says, also across a restart, and can be cancelled meanwhile', async () => {
    const model = await startModel()
    model.script(...failing(429, { 'retry-after': '1800' }))
    const dir = temporaryFolder()
    const before = await start(model, { dir })
    const { runId } = (await before.post('/hooks/agent', run)).body
    const look = async (gateway: typeof before) => (await gateway.get(`/runs/${runId}`)).body
    await expect.poll(async () => (await look(before)).nextAttemptAt).toBeDefined()
    const waiting = await look(before)
    expect(waiting).toMatchObject({
      status: 'queued',
      error: { message: "The model's service is over its limit (429)." },
    })
    expect(Date.parse(waiting.nextAttemptAt) - Date.parse(waiting.startedAt)).toBeGreaterThan(1_800_000)
    await before.gateway.close()
    const after = await start(model, { dir })
    expect(await look(after)).toEqual(waiting)
    expect(model.requests).toHaveLength(3)
  })

  it('is retried by the next start', async () => {
    const model = await startModel()
    model.script(...failing(500), { text: 'at last' })
    const dir = temporaryFolder()
    const before = await start(model, { dir, retry: { initialDelaySeconds: 1, maxDelaySeconds: 1 } })
    const { runId } = (await before.post('/hooks/agent', run)).body
    await expect.poll(async () => (await before.get(`/runs/${runId}`)).body.nextAttemptAt).toBeDefined()
    await before.gateway.close()
    const after = await start(model, { dir })
    await expect
      .poll(async () => (await after.get(`/runs/${runId}`)).body)
      .toMatchObject({ status: 'succeeded', reply: 'at last' })
  })

  it('blocks later runs of its session, but no other session', async () => {
    const model = await startModel()
    model.script(...failing(500), { text: 'other' })
    const { post, get } = await start(model, {
      retry: { initialDelaySeconds: 60, maxDelaySeconds: 60 },
      hooks: { defaultSessionKey: 'one', allowRequestSessionKey: true },
    })
    const first = (await post('/hooks/agent', run)).body.runId
    await expect.poll(async () => (await get(`/runs/${first}`)).body.nextAttemptAt).toBeDefined()
    const second = (await post('/hooks/agent', run)).body.runId
    expect((await post('/hooks/agent', { ...run, sessionKey: 'two' }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'other',
    })
    expect((await get(`/runs/${second}`)).body.status).toBe('queued')
  })

  it('does not block later runs of its session when retry.blockSession is false', async () => {
    const model = await startModel()
    model.script(...failing(500), { text: 'second' }, { text: 'first' })
    const { post, get } = await start(model, {
      retry: { initialDelaySeconds: 1, maxDelaySeconds: 1, blockSession: false },
    })
    const first = (await post('/hooks/agent', run)).body.runId
    await expect.poll(async () => (await get(`/runs/${first}`)).body.nextAttemptAt).toBeDefined()
    expect((await post('/hooks/agent', run, wait)).body.reply).toBe('second')
    await expect.poll(async () => (await get(`/runs/${first}`)).body.reply).toBe('first')
  })

  it('continues where it stopped: no tool is called twice', async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    const send = { tool: 'message', args: { channel: 'console', to: 'ops', text: 'once' } }
    model.script(send, ...failing(500), { drop: true, text: 'I have' }, { text: 'told them' })
    const { post, get, gateway } = await start(model, { dir })
    const { body } = await post('/hooks/agent', run, wait)
    expect(body).toMatchObject({ status: 'succeeded', reply: 'told them' })
    const { transcript } = (await get(`/api/sessions/${body.sessionKey}`)).body
    expect(transcript.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    await gateway.close()
    expect(readFileSync(join(dir, 'console.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)
  })
})
