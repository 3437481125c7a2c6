// Tests runs over HTTP: list, retry and cancel.
import { describe, expect, it } from 'vitest'
import { gatewayToken, shareGateway, startGateway } from '../helpers.ts'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

describe('GET /api/runs', () => {
  const { post, get } = shareGateway({ agents: { main: {}, ops: {} } })
  const run = async (body: object) =>
    (await post('/hooks/agent', { message: 'hi', ...quiet, ...body }, { prefer: 'wait=30' })).body.runId as string

  it('lists runs, newest first, page by page, with filters', async () => {
    const ids = [await run({}), await run({ agentId: 'ops' }), await run({ message: '/tool nobody {}' })].toReversed()
    const { status, body } = await get('/api/runs')
    expect(status).toBe(200)
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(body).not.toHaveProperty('next')

    const first = (await get('/api/runs?limit=2')).body
    const second = (await get(`/api/runs?limit=2&cursor=${first.next}`)).body
    expect([...first.items, ...second.items]).toEqual(body.items)

    expect((await get('/api/runs?agentId=ops')).body.items.map(({ id }: { id: string }) => id)).toEqual([ids[1]])
    expect((await get('/api/runs?kind=channel')).body.items).toEqual([])
    expect((await get(`/api/runs?status=succeeded&sessionKey=${body.items[0].sessionKey}`)).body.items).toEqual([
      body.items[0],
    ])
  })

  it('lists the runs of one hook', async () => {
    const { post, get } = await startGateway({
      hooks: { mappings: [{ match: { path: 'alerts' }, messageTemplate: 'x', ...quiet }] },
    })
    const { runId } = (await post('/hooks/alerts', {}, { prefer: 'wait=30' })).body
    await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })
    const idsOf = async (query: string) =>
      (await get(`/api/runs?${query}`)).body.items.map(({ id }: { id: string }) => id)
    expect(await idsOf('hook=alerts')).toEqual([runId])
    expect(await idsOf('hook=alerts&status=succeeded&agentId=main')).toEqual([runId])
    expect(await idsOf('hook=alerts&status=failed')).toEqual([])
    expect(await idsOf('hook=nobody')).toEqual([])
  })

  it.each([
    ['limit=0', 'limit must match'],
    ['limit=201', 'limit must match'],
    ['cursor=x', 'cursor must match'],
    ['status=asleep', 'status must be one of'],
    ['kind=letter', 'kind must be one of'],
    ['limit=1&limit=2', 'limit must be a string'],
  ])('returns 400 for %s', async (query, message) => {
    expect(await get(`/api/runs?${query}`)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining(message) } },
    })
  })

  it('requires the gateway credential and forbids caching', async () => {
    expect(await get('/api/runs', { authorization: 'Bearer hook-token-of-the-tests-0123456789' })).toMatchObject({
      status: 401,
    })
    const { headers } = await get('/api/runs')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
  })
})

describe('POST /api/runs/:id/retry', () => {
  const started = async (...answers: ModelAnswer[]) => {
    const model = await startModel()
    model.script(...answers)
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const mapping = {
      match: { path: 'alerts' },
      messageTemplate: '{{ text }}',
      sessionKey: 'hook:alerts',
      ...quiet,
      concurrency: 1,
    }
    const gateway = await startGateway({ providers: model.providers, agents, hooks: { mappings: [mapping] } })
    const alert = async () =>
      (await gateway.post('/hooks/alerts', { text: 'the disk is full' }, { prefer: 'wait=30' })).body.runId as string
    const retry = async (id: string) => await gateway.post(`/api/runs/${id}/retry`, {}, operator)
    const ended = async (id: string) => {
      await expect.poll(async () => (await gateway.get(`/runs/${id}`)).body.endedAt).toBeDefined()
      return (await gateway.get(`/runs/${id}`)).body
    }
    return { ...gateway, model, alert, retry, ended }
  }

  it('retries a failed run as a new run', async () => {
    const { alert, retry, ended, model } = await started({ status: 400 }, { text: 'done' })
    const first = await alert()
    const { status, body } = await retry(first)
    expect([status, body]).toEqual([
      200,
      { ok: true, runId: expect.any(String), sessionKey: 'agent:main:hook:alerts', retryOf: first },
    ])
    expect(await ended(body.runId)).toMatchObject({
      status: 'succeeded',
      reply: 'done',
      retryOf: first,
      origin: { kind: 'hook', name: 'alerts', trusted: false },
    })
    expect(await ended(first)).toMatchObject({ status: 'failed', retriedAs: body.runId })
    expect(await model.prompt(1)).toContain('the disk is full')
  })

  it('retries a run only once, but its retry again; refuses one of two concurrent callers', async () => {
    const { alert, retry, ended } = await started({ status: 400 }, { status: 400 }, { text: 'done' })
    const first = await alert()
    const answers = await Promise.all([retry(first), retry(first)])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const second = answers.find(({ status }) => status === 200)!.body.runId
    expect(answers.find(({ status }) => status === 409)!.body.error).toEqual({
      type: 'conflict',
      message: `The run was already retried as ${second}; check that run, and retry it if it failed.`,
    })
    expect((await ended(second)).status).toBe('failed')
    expect((await retry(first)).status).toBe(409)
    expect((await ended((await retry(second)).body.runId)).status).toBe('succeeded')
  })

  it('refuses runs that did not fail or do not exist', async () => {
    const { alert, retry } = await started({ text: 'done' })
    expect(await retry(await alert())).toMatchObject({
      status: 409,
      body: { error: { message: 'Only a failed run can be retried; the status of this one is succeeded.' } },
    })
    expect(await retry('nobody')).toMatchObject({ status: 404, body: { error: { type: 'run_not_found' } } })
  })
})

describe('POST /api/runs/:id/cancel', () => {
  it('cancels a running run, and a queued one behind it', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const { post, get } = await startGateway({
      providers: model.providers,
      agents,
      hooks: { defaultSessionKey: 'one' },
    })
    const [first, second] = [
      (await post('/hooks/agent', { message: 'a', ...quiet })).body.runId,
      (await post('/hooks/agent', { message: 'b', ...quiet })).body.runId,
    ]
    await model.request(0)
    expect((await get('/api/runs?status=running')).body.items).toMatchObject([{ id: first }])
    expect((await get('/api/runs?status=queued')).body.items).toMatchObject([{ id: second }])

    for (const id of [second, first])
      expect(await post(`/api/runs/${id}/cancel`, {}, operator)).toMatchObject({
        status: 200,
        body: { ok: true, runId: id },
      })
    await expect.poll(async () => (await get('/api/runs?status=cancelled')).body.items.length).toBe(2)
  })

  it('refuses runs that have ended or do not exist', async () => {
    const { post } = await startGateway()
    const { runId } = (await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })).body
    expect(await post(`/api/runs/${runId}/cancel`, {}, operator)).toMatchObject({
      status: 409,
      body: { error: { message: 'The run has already ended: its status is succeeded.' } },
    })
    expect(await post('/api/runs/nobody/cancel', {}, operator)).toMatchObject({
      status: 404,
      body: { error: { type: 'run_not_found' } },
    })
  })
})
