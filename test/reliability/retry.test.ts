// Tests retries of runs after transient model failures.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const quick = { initialDelaySeconds: 0.05, maxDelaySeconds: 0.1 }
const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const wait = { prefer: 'wait=20' }
/** The model library itself repeats a call before the run is retried. */
const failing = (status: number, headers: Record<string, string> = {}): ModelAnswer[] =>
  Array.from({ length: 3 }, () => ({ status, headers: { 'retry-after-ms': '1', ...headers } }))

/** A plugin with a tool that works for longer than a second. */
const slowTool = `export default {
  kind: 'toolset',
  name: 'slow',
  description: 'Slow tools.',
  tools: [{
    name: 'slow', group: 'slow', description: 'Takes its time.', effects: [],
    args: { type: 'object', properties: {} },
    execute: () => new Promise((resolve) => setTimeout(resolve, 1_500, 'done')),
  }],
}`

/** A plugin with a provider that hangs when it is opened for the first time. */
const hangingProvider = `let count = 0
const model = {
  specificationVersion: 'v4', provider: 'sleepy', modelId: 'm', supportedUrls: {},
  doStream: async () => ({ stream: ReadableStream.from([
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: 'awake' }, { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: { unified: 'stop' }, usage: { inputTokens: {}, outputTokens: {} } },
  ]) }),
}
export default {
  kind: 'provider', name: 'sleepy', description: 'Hangs once.', config: { type: 'object', properties: {} },
  models: () => count++ === 0 ? new Promise(() => {}) : Promise.resolve(() => model),
}`

/** Starts a gateway with these agents beside the default agent, and with these defaults. */
const start = (
  providers: Document,
  agents: Document,
  { dir = temporaryFolder(), plugins = [], ...defaults }: Document & { dir?: string; plugins?: string[] } = {},
) =>
  startGateway(
    {
      plugins,
      providers,
      agents: {
        defaults: { model: 'double/m', heartbeat: { every: '0' }, retry: quick, ...defaults },
        main: { default: true },
        ...agents,
      },
      hooks: { allowRequestSessionKey: true },
    },
    dir,
  )

const get = async ({ get }: Pick<RunningGateway, 'get'>, runId: string) => (await get(`/runs/${runId}`)).body

/** Waits until a run waits for its next attempt, and returns it. */
async function waiting(gateway: Pick<RunningGateway, 'get'>, runId: string) {
  await expect.poll(async () => (await get(gateway, runId)).nextAttemptAt, { timeout: 20_000 }).toBeDefined()
  return await get(gateway, runId)
}

it('a run is retried again when its model fails long after it has recovered from a failure', async () => {
  const [model, dir] = [await startModel(), temporaryFolder()]
  writeFileSync(join(dir, 'slow.mjs'), slowTool)
  const retry = { ...quick, forSeconds: 1 }
  const gateway = await start(model.providers, {}, { dir, plugins: ['./slow.mjs'], retry })
  model.script(...failing(503), { tool: 'slow', args: {} }, ...failing(503), { text: 'All is well.' })
  const { body } = await gateway.post('/hooks/agent', run, wait)
  expect(body).toMatchObject({ status: 'succeeded', reply: 'All is well.' })
})

describe('a run whose model is silent', () => {
  const shared = share(async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    const providers = {
      ...model.providers,
      strict: { ...(model.providers['double'] as Document), firstTokenTimeout: '1s' },
      sleepy: { kind: 'sleepy', firstTokenTimeout: '1s' },
    }
    const agents = {
      strict: { model: 'strict/m' },
      sleepy: { model: 'sleepy/m' },
      once: { timeoutSeconds: 1, retry: { forSeconds: 0 } },
      hasty: { timeoutSeconds: 1 },
      'strict-once': { model: 'strict/m', retry: { forSeconds: 0 } },
    }
    writeFileSync(join(dir, 'slow.mjs'), slowTool)
    writeFileSync(join(dir, 'sleepy.mjs'), hangingProvider)
    return {
      model,
      ...(await start(providers, agents, { dir, maxAttempts: 1, plugins: ['./slow.mjs', './sleepy.mjs'] })),
    }
  })

  const short = { agentId: 'hasty' }
  const silences: [what: string, fields: object, answer: ModelAnswer][] = [
    ['nothing within firstTokenTimeout', { agentId: 'strict' }, { hang: true }],
    ['no more for firstTokenTimeout', { agentId: 'strict' }, { hang: true, text: 'Let me' }],
    ['nothing until the time limit of the attempt', short, { hang: true }],
    ['no more until the time limit of the attempt', short, { hang: true, text: 'Let me' }],
  ]
  it.each(silences)('is retried when it sends %s', async (_what, fields, answer) => {
    const { model, post } = shared()
    const before = model.requests.length
    model.script(answer, answer, { text: 'at last' })
    expect((await post('/hooks/agent', { ...run, ...fields }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'at last',
    })
    expect(model.requests.slice(before)).toHaveLength(3)
  })

  it('is retried when its provider hangs while it is opened', async () => {
    expect((await shared().post('/hooks/agent', { ...run, agentId: 'sleepy' }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'awake',
    })
  })

  it('continues where it stopped: no tool is called twice', async () => {
    const { model, post, dir } = shared()
    const send = { tool: 'message', args: { channel: 'console', to: 'ops', text: 'once' } }
    model.script(send, { hang: true }, { text: 'told them' })
    expect((await post('/hooks/agent', { ...run, ...short }, wait)).body.reply).toBe('told them')
    expect(readFileSync(join(dir, 'console.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)
  })

  it('fails as after any other transient failure, and its request is aborted, when it is not retried', async () => {
    const { model, post } = shared()
    const before = model.requests.length
    model.script({ hang: true })
    const { body } = await post('/hooks/agent', { ...run, agentId: 'strict-once' }, wait)
    expect((await get(shared(), body.runId)).error).toMatchObject({
      type: 'model_failed',
      message: "The model's service was silent for longer than its firstTokenTimeout.",
    })
    await model.requests[before]?.abandoned
  })

  it('ends timed_out at the time limit of the attempt when it is not retried', async () => {
    const { model, post } = shared()
    model.script({ hang: true })
    const { body } = await post('/hooks/agent', { ...run, agentId: 'once' }, wait)
    expect(body.status).toBe('timed_out')
    expect((await get(shared(), body.runId)).error.message).toBe('The run was stopped after 1 seconds.')
  })

  it('is not taken for silent while it sends a long reply slowly, or while a tool works', async () => {
    const { model, post } = shared()
    model.script({ tool: 'slow', args: {} }, { text: 'slow and steady', pauseMs: 600 })
    expect((await post('/hooks/agent', { ...run, agentId: 'strict-once' }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'slow and steady',
    })
  })

  it('does not use up the time limit of the attempt while the run waits to repeat its call', async () => {
    const { model, post } = shared()
    model.script({ status: 503, headers: { 'retry-after': '2' } }, { text: 'at last' })
    expect((await post('/hooks/agent', { ...run, agentId: 'once' }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'at last',
    })
  })

  it('ends timed_out when the model did answer, and the rest took too long', async () => {
    const { model, post } = shared()
    model.script({ tool: 'slow', args: {} })
    const { body } = await post('/hooks/agent', { ...run, timeoutSeconds: 1.2 }, wait)
    expect(body.status).toBe('timed_out')
    expect((await get(shared(), body.runId)).error.message).toBe('The run was stopped after 1.2 seconds.')
  })
})

describe('a run with a time limit of its own', () => {
  const late = { initialDelaySeconds: 600, maxDelaySeconds: 600 }
  const unavailable = { status: 503, headers: { 'retry-after-ms': '1' } }
  const limits: [what: string, answer: ModelAnswer, message: RegExp][] = [
    ['is silent', { hang: true }, /^The run was stopped after 0\.5 seconds\.$/],
    ['stops within its answer', { hang: true, text: 'Let me' }, /^The run was stopped after 0\.5 seconds\.$/],
    ['fails', unavailable, /^The run was stopped after 0\.5 seconds\. The last attempt failed: .* tried 2 times in /],
  ]
  const shared = share(async () => {
    const model = await startModel()
    return { model, ...(await start(model.providers, {}, { retry: late })) }
  })

  it.each(limits)('ends at it when its model %s', async (_what, answer, message) => {
    const { model, post } = shared()
    model.otherwise(answer)
    const { body } = await post('/hooks/agent', { ...run, timeoutSeconds: 0.5 }, wait)
    expect(body).toMatchObject({
      status: 'timed_out',
      error: { type: 'timed_out', message: expect.stringMatching(message) },
    })
  })

  it('ends at it after a restart, also when the limit is reached before it', async () => {
    const model = await startModel()
    const dir = temporaryFolder()
    model.otherwise(unavailable)
    const first = await start(model.providers, {}, { dir, retry: late })
    const submit = async (timeoutSeconds: number) =>
      (await first.post('/hooks/agent', { ...run, timeoutSeconds })).body.runId
    const ids = [await submit(1), await submit(3)]
    for (const id of ids) await waiting(first, id)
    await first.gateway.close()
    const second = await start(model.providers, {}, { dir, retry: late })
    for (const id of ids) await expect.poll(async () => (await get(second, id)).status).toBe('timed_out')
  })
})

describe('runs that wait for a provider', () => {
  const late = { initialDelaySeconds: 600, maxDelaySeconds: 600 }
  const lateFor = (waited: Document) => Date.parse(waited['nextAttemptAt'] as string) - Date.now()

  async function startLate(dir = temporaryFolder()) {
    const [model, broken] = [await startModel(), await startModel()]
    const providers = { ...model.providers, broken: broken.providers['double'] }
    broken.otherwise({ status: 500, headers: { 'retry-after-ms': '1' } })
    const open = () => start(providers, { broken: { model: 'broken/m' } }, { dir, retry: late })
    return { model, open, ...(await open()) }
  }

  /** Starts runs whose model fails, and waits until they wait. Returns their ids. */
  async function failed({ post, get }: Pick<RunningGateway, 'post' | 'get'>, count: number, fields: object = {}) {
    const answers = await Promise.all(Array.from({ length: count }, () => post('/hooks/agent', { ...run, ...fields })))
    const runIds = answers.map(({ body }) => body.runId as string)
    for (const runId of runIds) await waiting({ get }, runId)
    return runIds
  }

  it('are tried soon after it has answered, a few with each answer', async () => {
    const { model, post, get } = await startLate()
    model.otherwise({ status: 500, headers: { 'retry-after-ms': '1' } })
    const runIds = await failed({ post, get }, 8)
    const [elsewhere] = await failed({ post, get }, 1, { agentId: 'broken' })
    const before = model.requests.length
    model.script({ text: 'It works.' })
    model.otherwise({ hang: true })
    expect((await post('/hooks/agent', run, wait)).body.reply).toBe('It works.')
    await model.request(before + 2)
    const records = async () => await Promise.all(runIds.map(async (runId) => (await get(`/runs/${runId}`)).body))
    const stillLate = (await records()).filter(({ status, ...rest }) => status === 'queued' && lateFor(rest) > 60_000)
    expect(stillLate).toHaveLength(6)
    // Those two fail again, and one more answer is enough for all.
    model.otherwise({ text: 'Seen.' })
    model.tear()
    await expect.poll(async () => (await records()).filter(({ nextAttemptAt }) => nextAttemptAt)).toHaveLength(8)
    await post('/hooks/agent', run, wait)
    await expect
      .poll(async () => (await records()).map(({ status }) => status), { timeout: 20_000 })
      .toEqual(runIds.map(() => 'succeeded'))
    expect(lateFor((await get(`/runs/${elsewhere}`)).body)).toBeGreaterThan(60_000)
  })

  it('are tried soon after it has answered following a restart', async () => {
    const { model, post, get, gateway, open } = await startLate()
    model.script(...failing(500))
    const [runId] = await failed({ post, get }, 1)
    await gateway.close()
    const after = await open()
    model.otherwise({ text: 'Seen.' })
    await after.post('/hooks/agent', run, wait)
    await expect
      .poll(async () => (await after.get(`/runs/${runId}`)).body.status, { timeout: 20_000 })
      .toBe('succeeded')
  })

  it('wait as long as its Retry-After says', async () => {
    const { model, post, get } = await startLate()
    model.script(...failing(429, { 'retry-after': '1800' }))
    const [runId] = await failed({ post, get }, 1)
    const record = async () => (await get(`/runs/${runId}`)).body
    const before = await record()
    model.otherwise({ text: 'Seen.' })
    await post('/hooks/agent', run, wait)
    await expect.poll(async () => (await record()).nextAttemptAt).not.toBe(before.nextAttemptAt)
    expect(Date.parse((await record()).nextAttemptAt) - Date.parse(before.startedAt)).toBeGreaterThan(1_800_000)
  })
})

describe('a run with a transient model failure', () => {
  /** Each test scripts what the model answers. The agents differ in how their runs are retried. */
  const shared = share(async () => {
    const [model, broken] = [await startModel(), await startModel()]
    broken.otherwise({ status: 500, headers: { 'retry-after-ms': '1' } })
    const providers = {
      ...model.providers,
      broken: broken.providers['double'],
      nowhere: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' },
    }
    const late = { initialDelaySeconds: 60, maxDelaySeconds: 60 }
    const agents = {
      late: { retry: late },
      unreachable: { retry: late, model: 'nowhere/m' },
      brief: { model: 'broken/m', retry: { forSeconds: 0.1, initialDelaySeconds: 0.1, maxDelaySeconds: 0.1 } },
      never: { retry: { forSeconds: 0 } },
      open: { retry: { initialDelaySeconds: 6, maxDelaySeconds: 6, blockSession: false } },
    }
    return { model, ...(await start(providers, agents, { maxAttempts: 1 })) }
  })

  const reasons: [what: string, answers: ModelAnswer[]][] = [
    ['a server error', failing(500)],
    ['too many requests', failing(429)],
    ['a connection that is torn within the answer', [{ drop: true, text: 'well, ' }]],
    ['an answer that breaks off', [{ truncate: true, text: 'well, ' }]],
  ]
  it.each(reasons)('is retried until it succeeds: %s', async (_what, answers) => {
    const { model, post } = shared()
    const before = model.requests.length
    model.script(...answers, ...answers, { text: 'at last' })
    expect((await post('/hooks/agent', run, wait)).body).toMatchObject({ status: 'succeeded', reply: 'at last' })
    expect(model.requests.slice(before)).toHaveLength(2 * answers.length + 1)
  })

  it('is retried when the connection to the model is refused', async () => {
    const { runId } = (await shared().post('/hooks/agent', { ...run, agentId: 'unreachable' })).body
    expect(await waiting(shared(), runId)).toMatchObject({
      status: 'queued',
      error: { type: 'model_failed', message: "The model's service could not be reached." },
      nextAttemptAt: expect.any(String),
    })
  })

  it('is not retried after a permanent failure', async () => {
    const { model, post } = shared()
    model.script({ status: 400 })
    const { body } = await post('/hooks/agent', run, wait)
    expect(body.status).toBe('failed')
    expect((await get(shared(), body.runId)).error.message).toBe("The model's service answered 400.")
  })

  it('fails after retry.forSeconds, with the duration in its error', async () => {
    const { body } = await shared().post('/hooks/agent', { ...run, agentId: 'brief' }, wait)
    expect(body.status).toBe('failed')
    expect((await get(shared(), body.runId)).error.message).toMatch(
      /^The model's service answered 500\. The run was tried \d+ times in \d+ seconds\.$/,
    )
  })

  it('is not retried when agents.<id>.retry.forSeconds is 0', async () => {
    const { model, post } = shared()
    const before = model.requests.length
    model.script(...failing(500))
    expect((await post('/hooks/agent', { ...run, agentId: 'never' }, wait)).body.status).toBe('failed')
    expect(model.requests.slice(before)).toHaveLength(3)
  })

  it('blocks later runs of its session, but no other session', async () => {
    const { model, post } = shared()
    model.script(...failing(500), { text: 'other' })
    const late = { ...run, agentId: 'late' }
    const first = (await post('/hooks/agent', { ...late, sessionKey: 'one' })).body.runId
    await waiting(shared(), first)
    const second = (await post('/hooks/agent', { ...late, sessionKey: 'one' })).body.runId
    expect((await post('/hooks/agent', { ...late, sessionKey: 'two' }, wait)).body).toMatchObject({
      status: 'succeeded',
      reply: 'other',
    })
    expect((await get(shared(), second)).status).toBe('queued')
    // Their model has answered, so they would be tried during the next tests.
    for (const runId of [second, first])
      await post(`/api/runs/${runId}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
  })

  it('does not block later runs of its session when retry.blockSession is false', async () => {
    const { model, post } = shared()
    model.script(...failing(500), { text: 'second' }, { text: 'first' })
    const open = { ...run, agentId: 'open', sessionKey: 'open' }
    const first = (await post('/hooks/agent', open)).body.runId
    await waiting(shared(), first)
    expect((await post('/hooks/agent', open, wait)).body.reply).toBe('second')
    await expect.poll(async () => (await get(shared(), first)).reply).toBe('first')
  })

  it('waits as long as Retry-After or its settings say, also across a restart', async () => {
    const model = await startModel()
    model.script(...failing(429, { 'retry-after': '1800' }), ...failing(500), { text: 'at last' })
    const dir = temporaryFolder()
    const before = await start(
      model.providers,
      { soon: { retry: { initialDelaySeconds: 1, maxDelaySeconds: 1 } } },
      { dir },
    )
    const first = (await before.post('/hooks/agent', run)).body.runId
    const late = await waiting(before, first)
    expect(late).toMatchObject({
      status: 'queued',
      error: { message: "The model's service is over its limit (429)." },
    })
    const askedFor = ({ nextAttemptAt, startedAt }: Document) =>
      Date.parse(nextAttemptAt as string) - Date.parse(startedAt as string)
    expect(askedFor(late)).toBeGreaterThan(1_800_000)
    const second = (await before.post('/hooks/agent', { ...run, agentId: 'soon' })).body.runId
    await waiting(before, second)
    await before.gateway.close()
    const after = await start(model.providers, { soon: {} }, { dir })
    await expect.poll(() => get(after, second)).toMatchObject({ status: 'succeeded', reply: 'at last' })
    const still = await get(after, first)
    expect(still).toEqual({ ...late, nextAttemptAt: still.nextAttemptAt })
    expect(askedFor(still)).toBeGreaterThan(1_800_000)
    expect(model.requests).toHaveLength(7)
  })

  it('continues where it stopped: no tool is called twice', async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    const send = { tool: 'message', args: { channel: 'console', to: 'ops', text: 'once' } }
    model.script(send, ...failing(500), { drop: true, text: 'I have' }, { text: 'told them' })
    const { post, get, gateway } = await start(model.providers, {}, { dir })
    const { body } = await post('/hooks/agent', run, wait)
    expect(body).toMatchObject({ status: 'succeeded', reply: 'told them' })
    const { transcript } = (await get(`/api/sessions/${body.sessionKey}`)).body
    expect(transcript.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    await gateway.close()
    expect(readFileSync(join(dir, 'console.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)
  })
})
