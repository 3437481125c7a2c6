// Tests the list of webhook requests, and their replay.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, hookToken, type RunningGateway, shareGateway, startGateway } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const later = { wakeMode: 'next-heartbeat' }
const still = { agents: { defaults: { heartbeat: { every: 0 } } } }

type Getter = Pick<RunningGateway, 'get'>

/** What the log holds, once a note of this status has arrived: notes are not waited for. */
async function noted({ get }: Getter, status: string, count = 1) {
  const list = async () => (await get(`/api/requests?status=${status}`)).body.items
  await expect.poll(async () => (await list()).length).toBe(count)
  return await list()
}

const mappings = [
  { match: { path: 'run' }, ...quiet, forEach: 'items', messageTemplate: 'Look at {{ item | upper }}' },
  { match: { path: 'event' }, action: 'wake', ...later, forEach: 'items', textTemplate: 'Saw {{ item }}' },
]

/** For tests that look at the newest request only. */
const gateway = shareGateway({ ...still, hooks: { mappings } })
const newest = async () => (await gateway.get('/api/requests?limit=1')).body.items[0]

describe('GET /api/requests/<id>', () => {
  it('shows what the agent reads of each action', async () => {
    const { post, get } = gateway
    const actionsOf = async () => (await get(`/api/requests/${(await newest()).id}`)).body.actions
    await post('/hooks/run', { items: ['a', 'b'] })
    expect(await actionsOf()).toMatchObject([
      { action: 'agent', message: 'Look at A' },
      { action: 'agent', message: 'Look at B' },
    ])
    await post('/hooks/agent', { message: ' Look at it. ', ...quiet })
    expect(await actionsOf()).toMatchObject([{ action: 'agent', message: ' Look at it. ' }])
    await post('/hooks/event', { items: ['x', 'y'] })
    const events = [
      { action: 'wake', message: 'Saw x', sessionKey: 'agent:main:main' },
      { action: 'wake', message: 'Saw y' },
    ]
    expect(await actionsOf()).toMatchObject(events)
    await post('/hooks/wake', { text: ' The disk is full. ', mode: 'next-heartbeat' })
    expect(await actionsOf()).toMatchObject([{ action: 'wake', message: 'The disk is full.' }])
  })

  it('shows the text of a wake whose body is not stored', async () => {
    const { post, get } = await startGateway({ ...still, hooks: { keepBody: false } })
    await post('/hooks/wake', { text: 'The disk is full.', mode: 'next-heartbeat' })
    const [{ id }] = (await get('/api/requests')).body.items
    expect((await get(`/api/requests/${id}`)).body).toMatchObject({
      body: null,
      actions: [{ action: 'wake', message: 'The disk is full.' }],
    })
  })
})

describe('GET /api/requests', () => {
  it('lists accepted requests with their runs and events', async () => {
    const { post, get } = await startGateway(still)
    const { eventId } = (await post('/hooks/wake', { text: 'The disk is full.', mode: 'next-heartbeat' })).body
    const { runId } = (await post('/hooks/agent', { message: 'Look at it.', ...quiet })).body
    const { status, body } = await get('/api/requests')
    expect(status).toBe(200)
    expect(body.items).toMatchObject([
      { hook: 'agent', status: 'accepted', client: '127.0.0.1', runIds: [runId], at: expect.stringMatching(/^20.*Z$/) },
      { hook: 'wake', status: 'accepted', eventIds: [eventId] },
    ])
    expect(body.items[0]).not.toHaveProperty('body')
  })

  it('filters by hook, time and text, and pages', async () => {
    const { post, get } = await startGateway(still)
    for (const text of ['one disk', 'two', 'three DISKS']) await post('/hooks/wake', { text, mode: 'next-heartbeat' })
    const ids = (await get('/api/requests')).body.items.map(({ id }: { id: string }) => id)
    const found = async (query: string) =>
      (await get(`/api/requests?${query}`)).body.items.map(({ id }: { id: string }) => id)
    expect(await found('hook=agent')).toEqual([])
    expect(await found('hook=wake')).toEqual(ids)
    expect(await found('q=disk')).toEqual([ids[0], ids[2]])
    expect(await found('since=2999-01-01T00:00:00Z')).toEqual([])
    expect(await found('since=2020-01-01')).toEqual(ids)
    const first = (await get('/api/requests?limit=2')).body
    expect(await found(`limit=2&cursor=${first.next}`)).toEqual([ids[2]])
    expect(await get('/api/requests?since=yesterday')).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('since is not a time') } },
    })
  })

  it('includes rejected requests, with the reason and, of authenticated senders, as much as was read', async () => {
    const running = await startGateway({ ...still, hooks: { maxBodyBytes: 100 } })
    await running.post('/hooks/wake', { text: 'hi' }, { authorization: 'Bearer wrong' })
    await running.post('/hooks/wake?token=x', { text: 'hi' })
    await running.post('/hooks/nothing', { text: 'hi' }, { authorization: 'Bearer wrong' })
    await running.post('/hooks/wake', { mode: 'later' })
    await running.post('/hooks/wake', '{"text":')
    await running.post('/hooks/agent', { message: 'x'.repeat(200) })
    await running.post('/hooks/github/push', {})
    // Of the senders that are not authenticated, only the reason is kept.
    const all = await noted(running, 'rejected', 7)
    const strangers = all.filter(
      ({ authentication }: { authentication: { scheme: string } }) => authentication.scheme === 'none',
    )
    expect(strangers.map(({ error }: { error: { type: string } }) => error.type).toSorted()).toEqual([
      'token_in_query',
      'unauthorized',
      'unauthorized',
    ])
    const known = all.filter((line: object) => !strangers.includes(line))
    expect(known).toMatchObject([
      { hook: 'github/push', error: { type: 'not_found' } },
      { hook: 'agent', error: { type: 'payload_too_large' } },
      { hook: 'wake', error: { type: 'invalid_json' } },
      { hook: 'wake', error: { type: 'invalid_request', message: expect.stringContaining('text is required') } },
    ])
    const shown = async ({ id }: { id: string }) => (await running.get(`/api/requests/${id}`)).body
    const [, large, , wrong] = known
    expect(await shown(large)).toMatchObject({ body: null })
    expect(await shown(wrong)).toMatchObject({ body: '{"mode":"later"}', actions: [], runs: [] })
  })

  it('includes duplicates, and requests that reuse an Idempotency-Key with another body', async () => {
    const running = await startGateway(still)
    const wake = (text: string) =>
      running.post('/hooks/wake', { text, mode: 'next-heartbeat' }, { 'idempotency-key': 'k' })
    await wake('one')
    expect((await wake('one')).headers.get('idempotent-replayed')).toBe('true')
    await wake('two')
    expect(await noted(running, 'duplicate')).toMatchObject([{ hook: 'wake' }])
    expect(await noted(running, 'rejected')).toMatchObject([{ error: { type: 'idempotency_conflict' } }])
  })

  it('includes requests that failed in the gateway', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const running = await startGateway({
      providers: model.providers,
      agents,
      hooks: { maxQueuedRuns: 1, defaultSessionKey: 'one' },
      gateway: { drainSeconds: 0 },
    })
    await running.post('/hooks/agent', { message: 'a', ...quiet })
    await model.request(0)
    await running.post('/hooks/agent', { message: 'b', ...quiet })
    expect((await running.post('/hooks/agent', { message: 'c', ...quiet })).status).toBe(503)
    expect(await noted(running, 'failed')).toMatchObject([{ hook: 'agent', error: { type: 'overloaded' } }])
  })
})

describe('GET /api/requests/:id', () => {
  it('returns the headers without secrets, the body as received, and the runs', async () => {
    const { post, get } = gateway
    const body = JSON.stringify({ message: 'Look at it.', ...quiet, extra: 1 }, null, 2)
    const { runId, sessionKey } = (
      await post('/hooks/agent', body, { prefer: 'wait=30', 'x-api-key': 'very secret', 'x-flavour': 'plain' })
    ).body
    const { id } = await newest()
    const request = (await get(`/api/requests/${id}`)).body
    expect(request).toMatchObject({
      id,
      body,
      headers: { authorization: '[redacted]', 'x-api-key': '[redacted]', 'x-flavour': 'plain' },
      actions: [{ action: 'agent', runId, agentId: 'main', sessionKey }],
      runs: [(await get(`/runs/${runId}`)).body],
    })
    expect(JSON.stringify(request)).not.toContain(hookToken)
  })

  it('returns 404 for an unknown id', async () => {
    expect(await gateway.get('/api/requests/nothing')).toMatchObject({
      status: 404,
      body: { error: { type: 'request_not_found' } },
    })
  })
})

describe('POST /api/requests/:id/replay', () => {
  const replay = (id: string, body: object) => gateway.post(`/api/requests/${id}/replay`, body, operator)

  it('starts the same work again as a new request', async () => {
    const first = (
      await gateway.post(
        '/hooks/agent',
        { message: 'Once.', agentId: ' MAIN ', ...quiet },
        { 'idempotency-key': 'once', prefer: 'wait=30' },
      )
    ).body
    const { id } = await newest()
    const { status, body } = await replay(id, {})
    expect(status).toBe(200)
    expect(body).toMatchObject({ ok: true, runId: expect.any(String), requestId: expect.any(String) })
    expect(body.runId).not.toBe(first.runId)
    const { replayOf, actions } = (await gateway.get(`/api/requests/${body.requestId}`)).body
    expect({ replayOf, actions }).toMatchObject({ replayOf: id, actions: [{ runId: body.runId }] })
    expect((await gateway.get(`/runs/${body.runId}`)).body).toMatchObject({ kind: 'hook', origin: { trusted: false } })
  })

  it('accepts another body and applies the same rules', async () => {
    await gateway.post('/hooks/wake', { text: 'One.', mode: 'next-heartbeat' })
    const { id } = await newest()
    const { body } = await replay(id, { body: { text: 'Two.', mode: 'next-heartbeat' } })
    expect((await gateway.get(`/api/requests/${body.requestId}`)).body).toMatchObject({
      body: '{"text":"Two.","mode":"next-heartbeat"}',
    })
    expect(await replay(id, { body: { text: ' ' } })).toMatchObject({
      status: 400,
      body: { error: { message: 'text must not be blank.' } },
    })
    expect(await replay(id, { body: [] })).toMatchObject({ status: 400 })
    expect(await replay(id, { dryRun: 'yes' })).toMatchObject({ status: 400 })
  })

  it('returns the actions of a dry run and starts nothing', async () => {
    await gateway.post('/hooks/agent', { message: 'Twice.', name: 'CI', ...quiet }, { prefer: 'wait=30' })
    const { id } = await newest()
    const { body } = await replay(id, { dryRun: true })
    const action = {
      action: 'agent',
      agentId: 'main',
      message: 'Twice.',
      name: 'CI',
      deliver: false,
      wakeMode: 'next-heartbeat',
      sessionKey: expect.stringContaining('agent:main:hook:'),
    }
    expect(body).toMatchObject({ ok: true, dryRun: true, actions: [action] })
    const wake = { action: 'wake', sessionKey: 'agent:main:main', text: 'News', mode: 'now' }
    await gateway.post('/hooks/wake', { text: 'One.', mode: 'next-heartbeat' })
    expect((await replay((await newest()).id, { dryRun: true, body: { text: ' News ' } })).body.actions).toEqual([wake])
    expect((await newest()).replayOf).toBeUndefined()
  })

  it('returns 404 or 409 when there is nothing to replay', async () => {
    expect(await replay('nothing', {})).toMatchObject({ status: 404, body: { error: { type: 'request_not_found' } } })
    await gateway.post('/hooks/github', { action: 'push' })
    const [unknown] = await noted(gateway, 'rejected')
    expect(await replay(unknown.id, {})).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('no hook of this name') } },
    })
    await gateway.post('/hooks/wake', { text: 'x'.repeat(300_000) })
    const [large] = await noted(gateway, 'rejected', 2)
    expect(await replay(large.id, {})).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('send one in "body"') } },
    })
    expect((await replay(large.id, { body: { text: 'Short.', mode: 'next-heartbeat' } })).status).toBe(200)
  })
})

describe('GET /api/requests?runStatus', () => {
  it('lists requests that started a run with this status, page by page', async () => {
    const model = await startModel()
    model.script({ status: 400 }, { text: 'done' }, { status: 400 })
    const { post, get } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
    for (const message of ['one', 'two', 'three'])
      await post('/hooks/agent', { message, ...quiet }, { prefer: 'wait=20' })
    await post('/hooks/wake', { text: 'four', mode: 'next-heartbeat' })
    const runsOf = async (query: string) => (await get(`/api/requests?${query}`)).body
    const failed = await runsOf('runStatus=failed')
    const messages = await Promise.all(
      failed.items.map(
        async ({ id }: { id: string }) => JSON.parse((await get(`/api/requests/${id}`)).body.body).message,
      ),
    )
    expect(messages).toEqual(['three', 'one'])
    expect((await runsOf('runStatus=succeeded')).items).toHaveLength(1)
    const first = await runsOf('runStatus=failed&limit=1')
    expect([...first.items, ...(await runsOf(`runStatus=failed&limit=1&cursor=${first.next}`)).items]).toEqual(
      failed.items,
    )
    expect((await get('/api/requests?runStatus=asleep')).status).toBe(400)
  })
})
