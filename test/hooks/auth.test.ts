// The hook token: which requests are authenticated, the order of the checks, and the lockout after repeated failures.
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { ask, gatewayToken, hookToken, type RunningGateway, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const wake = JSON.stringify({ text: 'x' })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const without = { authorization: '' }

/** Its limit is beyond the failures of these tests. */
const patient = share(() => startGateway({ agents, hooks: { rateLimit: { maxAttempts: 1000 } } }))
const post: RunningGateway['post'] = (...args) => patient().post(...args)

describe('the hook token', () => {
  const status = async (headers: Record<string, string>) =>
    (await post('/hooks/wake', wake, { ...without, ...headers })).status

  it.each([
    ['Bearer', bearer(hookToken)],
    ['bearer in lower case', { authorization: `bearer ${hookToken}` }],
    ['BEARER and blanks around the token', { authorization: `BEARER \t ${hookToken} ` }],
    ['x-svc-token', { 'x-svc-token': hookToken }],
    ['x-svc-token with blanks', { 'x-svc-token': ` ${hookToken} ` }],
    ['x-svc-token beside another scheme', { authorization: 'Basic Zm9vOmJhcg==', 'x-svc-token': hookToken }],
    ['x-svc-token beside an empty bearer', { authorization: 'Bearer  ', 'x-svc-token': hookToken }],
  ])('is accepted as %s', async (_case, headers) => {
    expect(await status(headers)).toBe(200)
  })

  it.each([
    ['nothing', {}],
    ['an empty bearer', bearer('')],
    ['another token', bearer(`${hookToken}x`)],
    ['the beginning of the token', bearer(hookToken.slice(0, -1))],
    ['the token in upper case', bearer(hookToken.toUpperCase())],
    ['the token without its scheme', { authorization: hookToken }],
    ['a scheme that runs into the token', { authorization: `Bearer${hookToken}` }],
    ['the token of the gateway', bearer(gatewayToken)],
    ['a wrong bearer beside the right header', { ...bearer('wrong'), 'x-svc-token': hookToken }],
    ['a wrong header', { 'x-svc-token': 'wrong' }],
    ['a very long token', bearer('x'.repeat(8000))],
  ])('returns 401 for %s', async (_case, headers) => {
    const answer = await post('/hooks/wake', wake, { ...without, ...headers })
    expect(answer).toMatchObject({ status: 401, body: { ok: false, error: { type: 'unauthorized' } } })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })
})

describe('the order of checks', () => {
  it('checks the method first: 405 with Allow, with or without a token', async () => {
    for (const path of ['/hooks/wake', '/hooks/agent', '/hooks/anything', '/hooks/wake?token=x']) {
      const answer = await patient().get(path, without)
      expect(answer).toMatchObject({ status: 405, body: { error: { type: 'method_not_allowed' } } })
      expect(answer.headers.get('allow')).toBe('POST')
    }
  })

  it.each(['token=x', 'a=b&token=', 'token', '%74oken=x', 'token=x&token=y', `token=${hookToken}`])(
    'then refuses ?%s: 400, also beside a good header',
    async (query) => {
      for (const headers of [{}, without]) {
        expect(await post(`/hooks/wake?${query}`, wake, headers)).toMatchObject({
          status: 400,
          body: { error: { type: 'token_in_query' } },
        })
      }
    },
  )

  it('accepts other names in the query', async () => {
    for (const query of ['tokens=x', 'Token=x', 'x=token', ''])
      expect((await post(`/hooks/wake?${query}`, wake)).status).toBe(200)
  })

  it('then checks the token, before the name and the body', async () => {
    for (const path of ['/hooks/nothing', '/hooks/wake', '/hooks/wake/', '/hooks//wake'])
      expect((await post(path, 'no json', without)).status).toBe(401)
    expect((await post('/hooks/wake', 'x'.repeat(300_000), without)).status).toBe(401)
  })

  it.each([
    '/hooks/nothing',
    '/hooks/wake/',
    '/hooks//wake',
    '/hooks/Wake',
    '/hooks/wake%2f',
    '/hooks/%2577ake',
    '/hooks/agent/x',
  ])('then returns 404 for %s', async (path) => {
    expect(await post(path, 'no json')).toMatchObject({ status: 404, body: { error: { type: 'not_found' } } })
  })

  it('then reads the body, and then validates it', async () => {
    expect((await post('/hooks/wake', 'x'.repeat(300_000))).status).toBe(413)
    expect((await post('/hooks/wake', wake, { 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await post('/hooks/wake', 'no json')).body.error.type).toBe('invalid_json')
    expect((await post('/hooks/wake', '')).body.error.message).toContain('text is required')
  })
})

describe('a repeated header', () => {
  it.each(['Authorization: Bearer', 'x-svc-token:'])('returns 400: %s', async (header) => {
    const socket = connect(Number(new URL(patient().url).port), '127.0.0.1')
    const line = `${header} ${hookToken}\r\n`
    socket.write(
      `POST /hooks/wake HTTP/1.1\r\nHost: x\r\n${line}${line}` +
        `Content-Length: ${wake.length}\r\nConnection: close\r\n\r\n${wake}`,
    )
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"malformed_header"')
    expect(answer).not.toContain(hookToken)
  })
})

describe('repeated failures', () => {
  const limited = { agents, hooks: { rateLimit: { maxAttempts: 3, lockoutMs: 60_000 } } }
  const running = share(() => startGateway(limited))
  /** The correct token clears the count of the tests before. */
  const begin = async () => {
    expect((await running().post('/hooks/wake', wake)).status).toBe(200)
    return running()
  }
  const fail = ({ post }: RunningGateway, headers: Record<string, string> = {}) =>
    post('/hooks/wake', wake, { ...bearer('wrong'), ...headers })

  it('lock the address out: 429 with Retry-After, also for loopback', async () => {
    const gateway = await begin()
    for (let count = 0; count < 3; count++) expect((await fail(gateway)).status).toBe(401)
    const locked = await fail(gateway)
    expect(locked).toMatchObject({ status: 429, body: { error: { type: 'rate_limited' } } })
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThanOrEqual(59)
    expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect((await gateway.post('/hooks/nothing', wake, without)).status).toBe(429)
    expect((await gateway.post('/hooks/wake?token=x', wake, without)).status).toBe(400)
    expect((await gateway.get('/hooks/wake', without)).status).toBe(405)
  })

  it('may be 20 in a minute by default', async () => {
    const gateway = await startGateway({ agents })
    const statuses = await Promise.all(Array.from({ length: 21 }, async () => (await fail(gateway)).status))
    expect(statuses.filter((status) => status === 401)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(1)
  })

  it('never block the correct token, which clears the count', async () => {
    const gateway = await begin()
    for (let count = 0; count < 4; count++) await fail(gateway)
    expect((await fail(gateway)).status).toBe(429)
    expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
    expect((await fail(gateway)).status).toBe(401)
  })

  it('do not count wrong methods, query tokens or bodies', async () => {
    const gateway = await begin()
    for (let count = 0; count < 5; count++) {
      await gateway.get('/hooks/wake', without)
      await gateway.post('/hooks/wake?token=x', wake, without)
      await gateway.post('/hooks/wake', 'no json')
    }
    expect((await fail(gateway)).status).toBe(401)
  })

  it('count for the address of the socket unless that is a trusted proxy', async () => {
    const gateway = await begin()
    for (let count = 0; count < 3; count++) await fail(gateway, { 'x-forwarded-for': `192.0.2.${count}` })
    expect((await fail(gateway, { 'x-forwarded-for': '192.0.2.9' })).status).toBe(429)
  })

  it('count for the right-most untrusted hop behind a trusted proxy', async () => {
    const gateway = await startGateway({ ...limited, gateway: { trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] } })
    const from = async (chain: string) => (await fail(gateway, { 'x-forwarded-for': chain })).status
    for (let count = 0; count < 3; count++) expect(await from(`198.51.100.${count}, 192.0.2.1, 10.1.2.3`)).toBe(401)
    expect(await from('192.0.2.1')).toBe(429)
    expect(await from('::ffff:192.0.2.1')).toBe(429)
    expect(await from('192.0.2.1, 192.0.2.2')).toBe(401)
    for (let count = 0; count < 3; count++) expect(await from(`2001:db8:1:2::${count}`)).toBe(401)
    expect(await from('2001:db8:1:2:ffff::1')).toBe(429)
    expect(await from('2001:db8:1:3::1')).toBe(401)
  })
})

describe('the log line of a rejected request', () => {
  it('has the request id and the error type, and never a token or a payload', async () => {
    const { url, logged } = patient()
    const before = logged.length
    const answer = await ask(`${url}/hooks/wake?token=canary-query`, {
      method: 'POST',
      body: '{"text":"canary-body"}',
      headers: bearer('canary-bearer'),
    })
    await post('/hooks/wake', '{"text":"canary-body"}', { ...bearer('canary-bearer'), 'x-svc-token': 'canary-header' })
    const refusals = logged.slice(before).filter((line) => line.includes('request refused'))
    expect(refusals.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        reqId: answer.headers.get('x-request-id'),
        path: '/hooks/wake',
        type: 'token_in_query',
        status: 400,
        client: '127.0.0.1',
      }),
      expect.objectContaining({ path: '/hooks/wake', type: 'unauthorized', status: 401 }),
    ])
    expect(logged.join('\n')).not.toContain('canary')
  })
})
