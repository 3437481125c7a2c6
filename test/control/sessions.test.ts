// Tests sessions over HTTP.
import { beforeAll, describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, shareGateway, startGateway, temporaryFolder } from '../helpers.ts'

const still = { agents: { defaults: { heartbeat: { every: 0 } }, main: {}, ops: {} } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

describe('GET /api/sessions', () => {
  const { post, get } = shareGateway({ ...still, hooks: { allowRequestSessionKey: true } })
  const keys = async (query = '') =>
    (await get(`/api/sessions${query}`)).body.items.map(({ key }: { key: string }) => key)

  beforeAll(async () => {
    for (const sessionKey of ['one', 'two', 'one'])
      await post('/hooks/agent', { message: 'hi', sessionKey, ...quiet }, { prefer: 'wait=30' })
    await post(
      '/hooks/agent',
      { message: 'hi', sessionKey: 'three.dots:and/slashes', agentId: 'ops', ...quiet },
      { prefer: 'wait=30' },
    )
  })

  it('lists sessions, the most recently used first, page by page', async () => {
    // The summaries of the runs wait in the main session.
    expect(await keys()).toEqual([
      'agent:ops:three.dots:and/slashes',
      'agent:main:main',
      'agent:main:one',
      'agent:main:two',
    ])
    expect(await keys('?agentId=ops')).toEqual(['agent:ops:three.dots:and/slashes'])
    const first = (await get('/api/sessions?limit=1')).body
    const second = (await get(`/api/sessions?limit=1&cursor=${encodeURIComponent(first.next)}`)).body
    expect(second.items).toMatchObject([{ key: 'agent:main:main' }])
    expect(await keys(`?cursor=${encodeURIComponent(second.next)}`)).toEqual(['agent:main:one', 'agent:main:two'])
    expect(await get('/api/sessions?cursor=x')).toMatchObject({ status: 400 })
  })

  it('returns the transcript of a session with any key', async () => {
    const { status, body } = await get(`/api/sessions/${encodeURIComponent('agent:ops:three.dots:and/slashes')}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ key: 'agent:ops:three.dots:and/slashes', agentId: 'ops', events: [] })
    expect(body.transcript).toMatchObject([
      { role: 'user', text: expect.stringContaining('hi'), runId: expect.any(String) },
      { role: 'assistant', text: expect.stringContaining('rules model') },
    ])
  })

  it('returns 404 for an unknown session', async () => {
    expect(await get('/api/sessions/agent:main:nobody')).toMatchObject({
      status: 404,
      body: { error: { type: 'session_not_found' } },
    })
  })
})

describe('a session without a row', () => {
  it('is listed when events or its first run wait in it', async () => {
    const { post, get } = await startGateway({
      ...still,
      agents: { ...still.agents, defaults: { ...still.agents.defaults, maxConcurrent: 1 } },
    })
    const keys = async (query = '') =>
      (await get(`/api/sessions${query}`)).body.items.map(({ key }: { key: string }) => key)
    await post('/hooks/wake', { text: 'News.', mode: 'next-heartbeat' })
    expect((await get('/api/sessions')).body.items).toEqual([
      { key: 'agent:main:main', agentId: 'main', updatedAt: expect.stringMatching(/Z$/) },
    ])
    const posted = await Promise.all(Array.from({ length: 8 }, () => post('/hooks/agent', { message: 'hi', ...quiet })))
    const made = posted.map(({ body }) => body.sessionKey as string)
    expect((await keys('?limit=200')).toSorted()).toEqual([...made, 'agent:main:main'].toSorted())
    expect(await keys('?agentId=ops')).toEqual([])
    const status = await post('/tools/invoke', { tool: 'session_status' }, { authorization: `Bearer ${gatewayToken}` })
    expect(status.body.result).toMatchObject({
      key: 'agent:main:main',
      waitingEvents: expect.any(Number),
      updatedAt: expect.stringMatching(/Z$/),
    })
  })
})

describe('GET /api/sessions/:key', () => {
  it('returns the waiting events, also of a session without a transcript', async () => {
    const { post, get } = await startGateway(still)
    const { eventId } = (await post('/hooks/wake', { text: 'News.', mode: 'next-heartbeat' })).body
    const { body } = await get('/api/sessions/main')
    expect(body).toMatchObject({ key: 'agent:main:main', agentId: 'main', transcript: [] })
    expect(body.events).toEqual([
      { id: eventId, text: 'News.', mode: 'next-heartbeat', at: expect.stringMatching(/Z$/) },
    ])
  })

  it('returns a long transcript page by page', async () => {
    const { post, get } = await startGateway({ ...still, hooks: { allowRequestSessionKey: true } })
    for (const message of ['one', 'two', 'three'])
      await post('/hooks/agent', { message, sessionKey: 'long', ...quiet }, { prefer: 'wait=30' })
    const read = async (query = '') => (await get(`/api/sessions/agent:main:long${query}`)).body
    const whole = await read()
    expect(whole.transcript).toHaveLength(6)
    expect(whole).not.toHaveProperty('next')
    const newest = await read('?limit=4')
    const oldest = await read(`?limit=4&cursor=${newest.next}`)
    expect([...oldest.transcript, ...newest.transcript]).toEqual(whole.transcript)
    expect(oldest).not.toHaveProperty('next')
    expect((await get('/api/sessions/agent:main:long?cursor=x')).status).toBe(400)
  })

  it('returns the last route', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const { get } = await startGateway(
      { ...still, ...chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } }) },
      dir,
    )
    expect(await chat.say({ text: 'Hello', to: 'room-1' })).toBe('accepted')
    const { body } = await get('/api/sessions/agent:main:main')
    expect(body.lastRoute).toMatchObject({
      channel: 'chat-native',
      to: 'room-1',
      accountId: 'default',
      at: expect.stringMatching(/Z$/),
    })
  })
})

describe('DELETE /api/sessions/:key', () => {
  const hooks = { allowRequestSessionKey: true }
  const authorization = `Bearer ${gatewayToken}`
  const remove = async ({ url }: { url: string }, key: string, token = gatewayToken) => {
    const response = await fetch(`${url}/api/sessions/${encodeURIComponent(key)}`, {
      method: 'DELETE',
      // Many clients name a content type, although there is no body.
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
    return { status: response.status, body: await response.json() }
  }

  it('deletes all that was said in it, for good, and nothing of another session', async () => {
    const dir = temporaryFolder()
    const gateway = await startGateway({ ...still, hooks }, dir)
    const say = async (sessionKey: string) =>
      (
        await gateway.post(
          '/hooks/agent',
          { message: `Hi, ${sessionKey}`, sessionKey, ...quiet },
          { prefer: 'wait=30' },
        )
      ).body.runId as string
    const [gone, kept] = [await say('gone'), await say('kept')]
    expect(await remove(gateway, 'gone')).toEqual({ status: 200, body: { ok: true, key: 'agent:main:gone' } })
    const check = async ({ get }: Pick<typeof gateway, 'get'>) => {
      expect((await get('/api/sessions/gone')).status).toBe(404)
      expect((await get(`/runs/${gone}`)).status).toBe(404)
      expect((await get('/api/sessions/kept')).body.transcript).toHaveLength(2)
      expect((await get(`/runs/${kept}`)).status).toBe(200)
    }
    await check(gateway)
    expect((await gateway.get('/api/audit?action=session.delete')).body.items).toMatchObject([
      { action: 'session.delete', target: 'agent:main:gone', agentId: 'main', outcome: 'done' },
    ])
    expect(await remove(gateway, 'gone')).toMatchObject({ status: 404, body: { error: { type: 'session_not_found' } } })
    await gateway.gateway.close()
    const again = await startGateway({ ...still, hooks }, dir)
    await check(again)
    await again.post('/hooks/agent', { message: 'Anew', sessionKey: 'gone', ...quiet }, { prefer: 'wait=30' })
    expect((await again.get('/api/sessions/gone')).body.transcript).toHaveLength(2)
  })

  it('returns 409 while a run of it is under way, and deletes nothing', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const { url, post, get } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      hooks,
    })
    const { runId } = (await post('/hooks/agent', { message: 'Hi', sessionKey: 'busy', ...quiet })).body
    await model.request(0)
    expect(await remove({ url }, 'busy')).toMatchObject({
      status: 409,
      body: { error: { type: 'conflict', message: expect.stringContaining('cancel them, or wait for their end') } },
    })
    expect((await get('/api/sessions/busy')).status).toBe(200)
    await post(`/api/runs/${runId}/cancel`, {}, { authorization })
    await expect.poll(async () => (await remove({ url }, 'busy')).status).toBe(200)
  })

  it('deletes the events that wait in it, unless the client may not reach its agent', async () => {
    const limited = { name: 'limited', token: 'of-the-limited-client-0123456789', role: 'admin', agents: ['ops'] }
    const gateway = await startGateway({ ...still, gateway: { auth: { token: gatewayToken, clients: [limited] } } })
    await gateway.post('/hooks/wake', { text: 'News.', mode: 'next-heartbeat' })
    expect(await remove(gateway, 'main', limited.token)).toMatchObject({ status: 404 })
    expect(await remove(gateway, 'main')).toMatchObject({ status: 200, body: { key: 'agent:main:main' } })
    expect((await gateway.get('/api/sessions/main')).status).toBe(404)
  })
})
