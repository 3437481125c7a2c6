// What is stored of a request besides its body: its query without secrets, and its authentication.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { gatewayToken, shareGateway } from '../helpers.ts'

const secret = 'a secret of the sender'
const sign = (body: string) => ({
  authorization: '',
  'x-sign': createHmac('sha256', secret).update(body).digest('hex'),
})
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const operator = { authorization: `Bearer ${gatewayToken}` }

const gateway = shareGateway({
  agents: { defaults: { heartbeat: { every: 0 } } },
  hooks: {
    mappings: [
      {
        match: { path: 'mail' },
        ...quiet,
        sessionKey: 'hook:mail',
        messageTemplate: '{{ query.box }} {{ query.labels }} {{ query.api_key }}|',
      },
      {
        match: { path: 'signed' },
        auth: { scheme: 'hmac', header: 'x-sign', secrets: ['another', secret] },
        ...quiet,
        messageTemplate: '{{ text }}',
      },
    ],
  },
})
const { post, get } = gateway
const newest = async () => (await get(`/api/requests/${(await get('/api/requests?limit=1')).body.items[0].id}`)).body
const replay = (id: string, body: object) => post(`/api/requests/${id}/replay`, body, operator)

describe('the query of a request', () => {
  const query = 'box=in&labels=a&labels=b%20c&api_key=k-1&sig=s-1&__proto__=x'

  it('is stored without secrets', async () => {
    await post(`/hooks/mail?${query}`, {})
    const { query: shown } = await newest()
    expect(JSON.stringify(shown)).toBe(
      '{"box":"in","labels":["a","b c"],"api_key":"[redacted]","sig":"[redacted]","__proto__":"x"}',
    )
    await post('/hooks/mail', {})
    expect((await newest()).query).toEqual({})
  })

  it('is rendered by a replay, and by a replay of that, without secret parameters', async () => {
    await post(`/hooks/mail?${query}`, {})
    const { id } = await newest()
    expect((await replay(id, { dryRun: true })).body.actions[0].message).toBe('in ["a","b c"] |')
    const { requestId } = (await replay(id, {})).body
    expect((await get(`/api/requests/${requestId}`)).body).toMatchObject({
      replayOf: id,
      query: { box: 'in', api_key: '[redacted]' },
    })
    expect((await replay(requestId, { dryRun: true })).body.actions[0].message).toBe('in ["a","b c"] |')
  })

  it('is stored for a rejected request', async () => {
    await post('/hooks/wake?from=here', { text: 5 })
    const rejected = async () => (await get('/api/requests?status=rejected&hook=wake')).body.items
    await expect.poll(async () => (await rejected()).length).toBe(1)
    const [{ id }] = await rejected()
    expect((await get(`/api/requests/${id}`)).body.query).toEqual({ from: 'here' })
  })
})

describe('the authentication of a request', () => {
  it('is the hook token, or the scheme and the position of the secret', async () => {
    await post('/hooks/wake', { text: 'News', mode: 'next-heartbeat' })
    expect((await newest()).authentication).toEqual({ scheme: 'hook-token' })
    await post('/hooks/signed', '{"text":"hi"}', sign('{"text":"hi"}'))
    expect((await newest()).authentication).toEqual({ scheme: 'hmac', secret: 1 })
  })

  it('is stored for rejected requests, and absent for replays', async () => {
    await post('/hooks/signed', 'no json', sign('no json'))
    await expect.poll(async () => (await get('/api/requests?status=rejected&hook=signed')).body.items.length).toBe(1)
    const [refused] = (await get('/api/requests?status=rejected&hook=signed')).body.items
    expect(refused.authentication).toEqual({ scheme: 'hmac', secret: 1 })
    const { requestId } = (await replay(refused.id, { body: { text: 'mended' } })).body
    expect((await get(`/api/requests/${requestId}`)).body).not.toHaveProperty('authentication')
  })
})
