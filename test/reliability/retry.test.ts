// Tests retries of runs after transient model failures.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Document, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const quick = { initialDelaySeconds: 0.05, maxDelaySeconds: 0.1 }
const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const wait = { prefer: 'wait=20' }
/** The model library itself repeats a call before the run is retried. */
const failing = (status: number, headers: Record<string, string> = {}): ModelAnswer[] =>
  Array.from({ length: 3 }, () => ({ status, headers: { 'retry-after-ms': '1', ...headers } }))

/** Starts a gateway with these agents beside the default agent, and with these defaults. */
const start = (
  providers: Document,
  agents: Document,
  { dir = temporaryFolder(), ...defaults }: Document & { dir?: string } = {},
) =>
  startGateway(
    {
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
    expect(Date.parse(late.nextAttemptAt) - Date.parse(late.startedAt)).toBeGreaterThan(1_800_000)
    const second = (await before.post('/hooks/agent', { ...run, agentId: 'soon' })).body.runId
    await waiting(before, second)
    await before.gateway.close()
    const after = await start(model.providers, { soon: {} }, { dir })
    await expect.poll(() => get(after, second)).toMatchObject({ status: 'succeeded', reply: 'at last' })
    expect(await get(after, first)).toEqual(late)
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
