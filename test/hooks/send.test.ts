// Tests sending a body to a hook as an operator, and what is said of the mappings that a request was compared with.
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const limited = { name: 'olga', role: 'viewer', content: true, agents: ['main'], token: 'token-of-olga-0123456789' }
const deaf = { name: 'dora', role: 'viewer', token: 'token-of-dora-0123456789' }
const quiet = { messageTemplate: '{{text}}', deliver: false, wakeMode: 'next-heartbeat' }

const shared = share(() =>
  startGateway({
    gateway: { auth: { token: gatewayToken, clients: [limited, deaf] } },
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      enabled: true,
      token: hookToken,
      mappings: [
        {
          id: 'critical',
          match: { path: 'alerts', source: 'pager', headers: { 'x-team': 'core' }, payload: { level: 'critical' } },
          ...quiet,
        },
        { id: 'alerts', match: { path: 'alerts', payload: { level: { not: 'debug' } } }, ...quiet },
        { id: 'late', match: { path: 'alerts' }, skip: { payload: { level: 'debug' } }, ...quiet },
        { id: 'never', match: { path: 'alerts' }, ...quiet },
        { id: 'signed', match: { path: 'signed' }, auth: { scheme: 'github', secret: 'a secret' }, ...quiet },
      ],
    },
  }),
)
const send = (hook: string, body: object) => shared().post(`/api/hooks/${hook}/send`, { body }, operator)
const requestOf = async (id: string, headers = {}) => (await shared().get(`/api/requests/${id}`, headers)).body

describe('POST /api/hooks/<name>/send', () => {
  it('starts what the body of a sender would start, also without the signature that the hook needs', async () => {
    for (const [hook, body] of [
      ['agent', { message: 'hi', deliver: false, wakeMode: 'next-heartbeat' }],
      ['alerts', { level: 'info', text: 'hi' }],
      ['signed', { text: 'hi' }],
    ] as const) {
      const { status, body: reply } = await send(hook, body)
      expect([hook, status, reply]).toEqual([
        hook,
        200,
        expect.objectContaining({ ok: true, runId: expect.any(String) }),
      ])
      expect(await requestOf(reply.requestId)).toMatchObject({
        hook,
        status: 'accepted',
        authentication: { scheme: 'operator' },
        body: JSON.stringify(body),
      })
      const [entry] = (await shared().get('/api/audit?action=request.send')).body.items
      expect(entry).toMatchObject({ actor: { name: 'gateway' }, target: hook, outcome: 'done' })
    }
  })

  it('records a request that the mapping skips', async () => {
    const { body } = await send('alerts', { level: 'debug', text: 'hi' })
    expect(body).toMatchObject({ ok: true, skipped: true, requestId: expect.any(String) })
    const { items } = (await shared().get('/api/audit?action=request.send')).body
    expect(items[0]).toMatchObject({ target: 'alerts', outcome: 'done' })
  })

  it('refuses what the hook would refuse, and a hook that does not exist', async () => {
    expect(await send('agent', { text: 'wrong' })).toMatchObject({
      status: 400,
      body: { error: { message: 'message is required.' } },
    })
    expect(await send('nowhere', {})).toMatchObject({ status: 409, body: { error: { type: 'conflict' } } })
    expect((await shared().post('/api/hooks/agent/send', {}, operator)).status).toBe(400)
    expect((await shared().post('/api/hooks/agent/send', { body: {} })).status).toBe(401)
  })
})

describe('GET /api/requests/<id>', () => {
  it('says which mapping is used, and what does not hold of the others', async () => {
    const { body } = await send('alerts', { level: 'info', text: 'hi' })
    const { mappings } = await requestOf(body.requestId)
    expect(mappings).toEqual([
      { id: 'critical', isUsed: false, unmet: ['match.source', 'match.headers["x-team"]', 'match.payload["level"]'] },
      { id: 'alerts', isUsed: true, unmet: [] },
      { id: 'late', isUsed: false, unmet: [] },
      { id: 'never', isUsed: false, unmet: [] },
    ])
    for (const { token } of [limited, deaf])
      expect(await requestOf(body.requestId, { authorization: `Bearer ${token}` })).not.toHaveProperty('mappings')
  })

  it('keeps the body of a request to a hook that does not exist yet, if it shows the hook token', async () => {
    const { post, get } = shared()
    await post('/hooks/unmapped', { text: 'write a mapping for me' })
    const list = async () => (await get('/api/requests?hook=unmapped')).body.items as { id: string }[]
    await expect.poll(async () => (await list()).length).toBe(1)
    const [first] = await list()
    expect(await requestOf(first?.id ?? '')).toMatchObject({
      status: 'rejected',
      error: { type: 'not_found' },
      body: '{"text":"write a mapping for me"}',
      mappings: [],
    })
    expect((await post('/hooks/unmapped', { text: 'no' }, { authorization: 'Bearer wrong' })).status).toBe(401)
    await expect
      .poll(async () => (await get('/api/requests?status=rejected')).body.items[0].error.type)
      .toBe('unauthorized')
    const [stranger] = (await get('/api/requests?status=rejected')).body.items
    expect(await requestOf(stranger.id)).toMatchObject({ body: null })
  })
})
