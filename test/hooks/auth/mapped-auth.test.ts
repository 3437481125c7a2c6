// Mappings with their own `auth`: which requests are authenticated, the order of the checks, and the lockout.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ask, hookToken, shareGateway, startGateway } from '../../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const secret = 'a secret of the sender'
const sign = (body: string, key = secret) => ({
  authorization: '',
  'x-sign': createHmac('sha256', key).update(body).digest('hex'),
})
const hmac = { scheme: 'hmac', header: 'X-Sign', secret }
const without = { authorization: '' }
const rateLimit = { maxAttempts: 1000 }

describe('a mapping with its own auth', () => {
  const gateway = shareGateway({
    agents,
    hooks: {
      rateLimit,
      maxBodyBytes: 1000,
      mappings: [
        { match: { path: 'ci/signed' }, auth: hmac, ...quiet, messageTemplate: '{{ text }} {{ headers.x-sign }}' },
        {
          match: { path: 'token' },
          auth: { scheme: 'token', secrets: ['first secret', 'second secret'] },
          ...quiet,
          messageTemplate: 'x',
        },
        { match: { path: 'mixed', source: 'signed' }, auth: hmac, ...quiet, messageTemplate: 'x' },
        { match: { path: 'mixed' }, ...quiet, messageTemplate: 'x' },
        {
          match: { path: 'pair', source: 'shown' },
          auth: { scheme: 'token', header: 'X-Partner', secret },
          ...quiet,
          messageTemplate: 'x',
        },
        { match: { path: 'pair' }, ...quiet, messageTemplate: 'seen: {{ headers.x-partner }}.' },
        { match: { path: 'chat' }, auth: { scheme: 'slack', secret }, ...quiet, messageTemplate: 'x' },
        {
          match: { path: 'standard' },
          auth: {
            scheme: 'standard-webhooks',
            secret: `whsec_${Buffer.from('a secret of thirty-two bytes ok?').toString('base64')}`,
          },
          ...quiet,
          messageTemplate: 'x',
        },
        {
          match: { path: 'meta' },
          auth: { scheme: 'meta', secret, verifyToken: 'agreed on' },
          ...quiet,
          messageTemplate: 'x',
        },
      ],
    },
  })
  const { post, get } = gateway
  const body = '{"text": "Grüße"}'

  it('verifies the signature over the bytes as received, and stores no signature', async () => {
    const { status, body: answer } = await post('/hooks/ci/signed', body, { ...sign(body), prefer: 'wait=30' })
    expect(status).toBe(200)
    const run = (await get(`/runs/${answer.runId}`)).body
    expect(run.origin).toMatchObject({ name: 'ci/signed', auth: 'signed', trusted: false })
    expect(run.reply).toContain('Grüße')
    const { id } = (await get('/api/requests?limit=1')).body.items[0]
    expect((await get(`/api/requests/${id}`)).body.headers['x-sign']).toBe('[redacted]')
    expect(JSON.stringify(run)).not.toContain(sign(body)['x-sign'])
  })

  it('returns 401 for everything else, also the hook token, before it parses the body', async () => {
    for (const headers of [without, {}, sign(body, 'another'), sign(`${body} `)])
      expect(await post('/hooks/ci/signed', body, headers)).toMatchObject({
        status: 401,
        body: { error: { message: expect.stringMatching(/^The signature or the secret is missing or wrong; /) } },
      })
    expect((await post('/hooks/ci/signed', 'no json', sign('no json', 'another'))).status).toBe(401)
    expect((await post('/hooks/ci/signed', 'no json', sign('no json'))).body.error.type).toBe('invalid_json')
  })

  it('reads the body first: 413 and 415 come before 401; the method and the query come before both', async () => {
    expect((await post('/hooks/ci/signed', 'x'.repeat(1001), without)).status).toBe(413)
    expect((await post('/hooks/ci/signed', body, { ...without, 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await post('/hooks/ci/signed?token=x', 'x'.repeat(1001), sign(body))).body.error.type).toBe(
      'token_in_query',
    )
    expect((await get('/hooks/ci/signed', without)).status).toBe(405)
  })

  it('accepts each of several secrets', async () => {
    expect((await post('/hooks/token', {}, { authorization: 'Bearer first secret' })).status).toBe(200)
    expect((await post('/hooks/token', {}, { ...without, 'x-svc-token': 'second secret' })).status).toBe(200)
    expect((await post('/hooks/token', {}, { authorization: `Bearer ${hookToken}` })).status).toBe(401)
  })

  it('requires the credential of the mapping that matches the request', async () => {
    const signed = '{"source":"signed"}'
    const other = '{"source":"other"}'
    expect((await post('/hooks/mixed', signed, sign(signed))).status).toBe(200)
    expect((await post('/hooks/mixed', other)).status).toBe(200)
    expect((await post('/hooks/mixed', signed)).status).toBe(401)
    expect((await post('/hooks/mixed', other, sign(other))).status).toBe(401)
    expect((await post('/hooks/mixed', other, without)).status).toBe(401)
  })

  it('hides the secret of another mapping of the same name', async () => {
    const { body: answer } = await post('/hooks/pair', {}, { 'x-partner': secret, prefer: 'wait=30' })
    expect(answer.reply).toContain('seen: .')
    const { id } = (await get('/api/requests?limit=1&hook=pair')).body.items[0]
    expect((await get(`/api/requests/${id}`)).body.headers['x-partner']).toBe('[redacted]')
  })

  it('does not affect hooks with the hook token', async () => {
    expect((await post('/hooks/nothing', body, sign(body))).status).toBe(401)
    expect((await post('/hooks/wake', body, sign(body))).status).toBe(401)
  })

  it('answers a signed handshake and starts nothing', async () => {
    const question = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
    const time = String(Math.floor(Date.now() / 1000))
    const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${question}`).digest('hex')}`
    const send = (headers: Record<string, string>) =>
      gateway.post('/hooks/chat', question, {
        ...without,
        'x-slack-request-timestamp': time,
        prefer: 'raw',
        ...headers,
      })
    await expect(send({ 'x-slack-signature': signature })).rejects.toThrow(/JSON|c-1/)
    expect((await send({ 'x-slack-signature': `${signature}0` })).status).toBe(401)
    expect(
      (await get('/api/runs?limit=100')).body.items.map(({ origin }: { origin: { name: string } }) => origin.name),
    ).not.toContain('chat')
  })

  it('accepts a request with a signed id once, whatever Idempotency-Key it has', async () => {
    const key = Buffer.from('a secret of thirty-two bytes ok?')
    const time = String(Math.floor(Date.now() / 1000))
    const signature = `v1,${createHmac('sha256', key).update(`msg_1.${time}.{}`).digest('base64')}`
    const headers = { ...without, 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': signature }
    const first = await post('/hooks/standard', '{}', headers)
    expect(first.status).toBe(200)
    expect((await post('/hooks/standard', '{}', { ...headers, 'idempotency-key': 'another' })).body).toEqual(first.body)
  })

  it('answers a handshake by GET where the scheme has one', async () => {
    const query = (token: string) => `/hooks/meta?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=4711`
    expect((await get(query('agreed%20on'), without)).body).toBe(4711)
    expect((await get(query('guessed'), without)).status).toBe(401)
    expect((await get('/hooks/chat', without)).status).toBe(405)
  })

  it('is described as signed', async () => {
    const { paths } = (await get('/openapi.json')).body
    expect(paths['/hooks/ci/signed'].post.security).toEqual([])
    expect(paths['/hooks/meta'].get.security).toEqual([])
  })
})

describe('failed signatures', () => {
  it('count as failed attempts, and never block a valid signature', async () => {
    const { post, url } = await startGateway({
      agents,
      hooks: {
        rateLimit: { maxAttempts: 3 },
        mappings: [{ match: { path: 'signed' }, auth: hmac, ...quiet, messageTemplate: 'x' }],
      },
    })
    const bad = () => ask(`${url}/hooks/signed`, { method: 'POST', body: '{}', headers: { 'x-sign': '00' } })
    for (let count = 0; count < 3; count++) expect((await bad()).status).toBe(401)
    const locked = await bad()
    expect(locked.status).toBe(429)
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await post('/hooks/signed', '{}', sign('{}'))).status).toBe(200)
    expect((await bad()).status).toBe(401)
  })
})
