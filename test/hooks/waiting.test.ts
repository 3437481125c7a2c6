// Waiting for a run with `Prefer: wait=N`, and reading it later with GET /runs/<id>.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { hookToken, shareGateway, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const still = { wakeMode: 'next-heartbeat', deliver: false }
const { post, get } = shareGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })

/** Its model never answers. */
const hanging = share(async () => {
  const model = await startModel()
  model.otherwise({ hang: true })
  return await startGateway({
    providers: model.providers,
    gateway: { drainSeconds: 0 },
    agents: { defaults: { model: 'double/m', heartbeat: { every: 0 }, retry: { forSeconds: 0 } } },
  })
})

describe('Prefer: wait', () => {
  it('holds the reply until the run ends', async () => {
    const { status, headers, body } = await post(
      '/hooks/agent',
      { message: 'Say hello.', ...still },
      { prefer: 'wait=20' },
    )
    expect(status).toBe(200)
    expect(headers.get('preference-applied')).toBe('wait=20')
    expect(body).toEqual({
      ok: true,
      runId: expect.any(String),
      sessionKey: expect.any(String),
      status: 'succeeded',
      reply: expect.stringContaining('Say hello.'),
    })
  })

  it.each([
    ['wait=5', 'wait=5'],
    ['respond-async, WAIT = "5"; foo=bar', 'wait=5'],
    ['wait=301', 'wait=300'],
    ['wait=99999999999999999999', 'wait=300'],
  ])('accepts %s', async (prefer, applied) => {
    const { headers, body } = await post('/hooks/agent', { message: 'hi', ...still }, { prefer })
    expect(headers.get('preference-applied')).toBe(applied)
    expect(body.status).toBe('succeeded')
  })

  it.each(['wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=soon', 'await=5', 'handling=lenient'])(
    'ignores %s',
    async (prefer) => {
      const { status, headers, body } = await post('/hooks/agent', { message: 'hi', ...still }, { prefer })
      expect(status).toBe(200)
      expect(headers.has('preference-applied')).toBe(false)
      expect(body).not.toHaveProperty('status')
    },
  )

  it('is ignored for a wake', async () => {
    expect((await post('/hooks/wake', { text: 'hi' }, { prefer: 'wait=5' })).body).toMatchObject({
      ok: true,
      eventId: expect.any(String),
    })
  })

  it('returns the status of the run when the time is over', async () => {
    const { body } = await hanging().post('/hooks/agent', { message: 'hi', ...still }, { prefer: 'wait=1' })
    expect(body).toEqual({ ok: true, runId: expect.any(String), sessionKey: expect.any(String), status: 'running' })
  })

  it('returns the error of a failed run', async () => {
    const { body } = await hanging().post(
      '/hooks/agent',
      { message: 'hi', ...still, timeoutSeconds: 0.2 },
      { prefer: 'wait=20' },
    )
    expect(body).toEqual({
      ok: true,
      runId: expect.any(String),
      sessionKey: expect.any(String),
      status: 'timed_out',
      error: { type: 'timed_out', message: 'The run was stopped after 0.2 seconds.' },
    })
  })
})

describe('Prefer: wait for several runs', () => {
  it('returns the status and the error of each, without the message of the model provider', async () => {
    const model = await startModel()
    model.script({ text: 'done' }, { status: 400, body: { error: { message: 'canary' } } })
    const mapping = { match: { path: 'alerts' }, forEach: 'items', messageTemplate: '{{ item }}', ...still }
    const { post } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', maxConcurrent: 1, heartbeat: { every: 0 } } },
      hooks: { mappings: [mapping] },
    })
    const { body } = await post('/hooks/alerts', { items: ['one', 'two'] }, { prefer: 'wait=20' })
    const [one, two] = body.runIds
    expect(body.runs).toEqual([
      { runId: one, status: 'succeeded', reply: 'done' },
      { runId: two, status: 'failed', error: { type: 'model_failed', message: "The model's service answered 400." } },
    ])
  })
})

describe('GET /runs/<id>', () => {
  const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

  it('returns the whole run', async () => {
    const { body } = await post(
      '/hooks/agent',
      { message: 'hi', name: 'CI', wakeMode: 'next-heartbeat', channel: 'console', to: 'ops' },
      { prefer: 'wait=20' },
    )
    const run = await get(`/runs/${body.runId}`)
    const [request] = (await get('/api/requests?limit=1')).body.items
    expect(request.runIds).toEqual([body.runId])
    expect(run.status).toBe(200)
    expect(run.body).toEqual({
      id: body.runId,
      requestId: request.id,
      kind: 'hook',
      agentId: 'main',
      sessionKey: body.sessionKey,
      model: 'builtin/rules',
      status: 'succeeded',
      origin: { kind: 'hook', name: 'agent', trusted: false, auth: 'token' },
      name: 'CI',
      reply: body.reply,
      usage: expect.objectContaining({ steps: 1, totalTokens: expect.any(Number) }),
      deliveries: [
        { id: `${body.runId}:0`, channel: 'console', to: 'ops', status: expect.stringMatching(/^(pending|sent)$/) },
      ],
      provenance: { outside: ['webhook agent'], authors: [], isPrivate: false, explanation: expect.any(String) },
      queuedMs: expect.any(Number),
      attempts: [{ startedAt: run.body.startedAt, endedAt: run.body.endedAt }],
      createdAt: iso,
      startedAt: iso,
      endedAt: iso,
    })
  })

  it('returns a run that is in progress', async () => {
    const { body } = await hanging().post('/hooks/agent', { message: 'hi', ...still }, { prefer: 'wait=1' })
    const run = (await hanging().get(`/runs/${body.runId}`)).body
    expect(run).toMatchObject({ status: 'running', deliveries: [], startedAt: iso })
    expect(run).not.toHaveProperty('endedAt')
    expect(run).not.toHaveProperty('reply')
  })

  it('returns 404 for an unknown run', async () => {
    for (const id of ['nothing', '%00', '..%2f..']) expect(await get(`/runs/${id}`)).toMatchObject({ status: 404 })
    expect((await get('/runs/nothing')).body.error.type).toBe('run_not_found')
  })

  it('requires the credential of the gateway', async () => {
    expect((await get('/runs/x', { authorization: '' })).status).toBe(401)
    expect((await get('/runs/x', { authorization: `Bearer ${hookToken}` })).status).toBe(401)
    expect((await get('/runs/x?token=1')).status).toBe(400)
  })

  it('returns 405 for another method', async () => {
    const answer = await post('/runs/x', {})
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
