// Tests sessions over HTTP.
import { beforeAll, describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
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
    const { get } = await startGateway({ ...still, ...chat.config(dir, { 'chat-native': { allowFrom: ['*'] } }) }, dir)
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
