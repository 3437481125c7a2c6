// Runs over HTTP: one, many, and their end before their time.
import { describe, expect, it } from 'vitest'
import { gatewayToken, shareGateway, startGateway } from '../helpers.ts'
import { startModel } from '../doubles/model.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

describe('GET /api/runs', () => {
  const { post, get } = shareGateway({ agents: { main: {}, ops: {} } })
  const run = async (body: object) => (await post('/hooks/agent', { message: 'hi', ...quiet, ...body }, { prefer: 'wait=30' })).body.runId as string

  it('lists runs, newest first, page by page, sifted', async () => {
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
    expect((await get(`/api/runs?status=succeeded&sessionKey=${body.items[0].sessionKey}`)).body.items).toEqual([body.items[0]])
  })

  it.each([
    ['limit=0', 'limit must match'],
    ['limit=201', 'limit must match'],
    ['cursor=x', 'cursor must match'],
    ['status=asleep', 'status must be one of'],
    ['kind=letter', 'kind must be one of'],
    ['limit=1&limit=2', 'limit must be a string'],
  ])('answers 400 to %s', async (query, message) => {
    expect(await get(`/api/runs?${query}`)).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining(message) } } })
  })

  it('wants the credential of the gateway, and lets no cache keep the answer', async () => {
    expect(await get('/api/runs', { authorization: 'Bearer hook-token-of-the-tests-0123456789' })).toMatchObject({ status: 401 })
    const { headers } = await get('/api/runs')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
  })
})

describe('POST /api/runs/:id/cancel', () => {
  it('ends a run that is under way, and one that waits behind it', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const { post, get } = await startGateway({ providers: model.providers, agents, hooks: { defaultSessionKey: 'one' } })
    const [first, second] = [
      (await post('/hooks/agent', { message: 'a', ...quiet })).body.runId,
      (await post('/hooks/agent', { message: 'b', ...quiet })).body.runId,
    ]
    await model.request(0)
    expect((await get('/api/runs?status=running')).body.items).toMatchObject([{ id: first }])
    expect((await get('/api/runs?status=queued')).body.items).toMatchObject([{ id: second }])

    for (const id of [second, first]) expect(await post(`/api/runs/${id}/cancel`, {}, operator)).toMatchObject({ status: 200, body: { ok: true, runId: id } })
    await expect.poll(async () => (await get('/api/runs?status=cancelled')).body.items.length).toBe(2)
  })

  it('refuses a run that has ended, and one that there is not', async () => {
    const { post } = await startGateway()
    const { runId } = (await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })).body
    expect(await post(`/api/runs/${runId}/cancel`, {}, operator)).toMatchObject({
      status: 409,
      body: { error: { message: 'The run has ended already: it is succeeded.' } },
    })
    expect(await post('/api/runs/nobody/cancel', {}, operator)).toMatchObject({ status: 404, body: { error: { type: 'run_not_found' } } })
  })
})
