// Tests authentication: accepted forms of credentials, and lockouts.
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../core/kit/matcher.ts'
import { type App, exchange, password, rawRequest, startApp, statusLines, token } from './app.ts'

const attempts = { maxAttempts: 3, windowMs: 60_000, lockoutMs: 60_000 }
const bearerOf = (value: string) => ({ authorization: `Bearer ${value}` })
const encoded = Buffer.from(password).toString('latin1')

async function post({ url }: App, path: string, headers: Record<string, string>) {
  const response = await fetch(url + path, { method: 'POST', body: '{}', headers })
  const { error } = (await response.json()) as { error?: { type: string } }
  return {
    status: response.status,
    type: error?.type,
    retryAfter: response.headers.get('retry-after'),
    challenge: response.headers.get('www-authenticate'),
  }
}

const hook = (app: App, headers: Record<string, string>) => post(app, '/hooks/echo', headers)
const tool = (app: App, headers: Record<string, string>) => post(app, '/tools/invoke', headers)

async function raw(headers: string[], path = '/hooks/echo'): Promise<string[]> {
  const { port } = await startApp()
  const bytes = rawRequest('', { path, headers: [...headers, 'Content-Length: 0', 'Connection: close'] }).replace(
    /Authorization:.*?\r\n/,
    '',
  )
  return statusLines(await exchange(port, bytes))
}

describe('a hook route group', () => {
  it.each([
    [`Authorization: Bearer ${token}`],
    [`authorization: bearer ${token}`],
    [`Authorization: BEARER   ${token}  `],
    [`Authorization: Bearer\t${token}\t`],
    [`x-svc-token: ${token}`],
    [`X-SVC-Token:   ${token}  `],
    ['Authorization: Bearer', `x-svc-token: ${token}`],
    ['Authorization: Basic abc', `x-svc-token: ${token}`],
  ])('accepts %s %s', async (...headers) => {
    expect(await raw(headers)).toEqual(['200'])
  })

  it.each([
    [''],
    ['X: y'],
    ['Authorization:'],
    ['Authorization: Bearer'],
    ['Authorization: Bearer  '],
    [`Authorization: ${token}`],
    [`Authorization: Basic ${token}`],
    [`Authorization: Bearer${token}`],
    [`Authorization: Bearer ${token}x`],
    [`Authorization: Bearer ${token.slice(0, -1)}`],
    [`Authorization: Bearer ${token.toUpperCase()}`],
    [`Authorization: Bearer ${token} ${token}`],
    [`Authorization: Bearer ${'x'.repeat(12_000)}`],
    ['x-svc-token:'],
    ['x-svc-token: wrong'],
    ['Authorization: Bearer wrong', `x-svc-token: ${token}`],
  ])('refuses %s %s', async (...headers) => {
    expect(await raw(headers.filter((header) => header !== ''))).toEqual(['401'])
  })

  it('returns 400 for a repeated header, even with equal values', async () => {
    const repeated = [`Authorization: Bearer ${token}`, `authorization: Bearer ${token}`]
    expect(await raw(repeated)).toEqual(['400'])
    expect(await raw([repeated[0]!, `x-svc-token: ${token}`, `X-Svc-Token: ${token}`])).toEqual(['400'])
    expect(await raw(repeated, '/tools/invoke')).toEqual(['400'])
  })

  it.each(['token=x', 'token', 'a=b&token=', '%74oken=x', 'to%6ben', `token=${token}`])(
    'returns 400 for a token in the query, even with a valid header: ?%s',
    async (query) => {
      expect(await raw([`Authorization: Bearer ${token}`], `/hooks/echo?${query}`)).toEqual(['400'])
    },
  )

  it.each(['tokens=x', 'a=token', 'TOKEN=x', 'a=%26token=x', ''])('accepts any other query: ?%s', async (query) => {
    expect(await raw([`Authorization: Bearer ${token}`], `/hooks/echo?${query}`)).toEqual(['200'])
  })

  it('returns the same 401 for every wrong credential', async () => {
    const app = await startApp()
    const answers = await Promise.all(['', 'x', token.slice(0, -1), 'é'].map((value) => hook(app, bearerOf(value))))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toEqual({ status: 401, type: 'unauthorized', retryAfter: null, challenge: 'Bearer' })
  })

  it('returns 429 with Retry-After after too many failures, also from this machine', async () => {
    const app = await startApp({ attempts })
    for (let failure = 0; failure < 3; failure++)
      expect((await hook(app, failure % 2 ? {} : bearerOf('x'))).status).toBe(401)
    expect(await hook(app, bearerOf('x'))).toMatchObject({ status: 429, type: 'rate_limited', retryAfter: '60' })
  })

  it('accepts the right token while its address is locked out, and clears the failures', async () => {
    const app = await startApp({ attempts })
    for (let failure = 0; failure < 4; failure++) await hook(app, bearerOf('x'))
    expect((await hook(app, bearerOf(token))).status).toBe(200)
    for (let failure = 0; failure < 3; failure++) expect((await hook(app, bearerOf('x'))).status).toBe(401)
    expect((await hook(app, bearerOf('x'))).status).toBe(429)
  })

  it('ends the lockout after its time', async () => {
    let time = 0
    const app = await startApp({ attempts: { ...attempts, now: () => time } })
    for (let failure = 0; failure < 4; failure++) await hook(app, bearerOf('x'))
    time = 59_999.5
    expect(await hook(app, bearerOf('x'))).toMatchObject({ status: 429, retryAfter: '1' })
    time = 60_000
    expect((await hook(app, bearerOf('x'))).status).toBe(401)
  })

  it('counts per client behind a trusted proxy, and a client cannot choose its key', async () => {
    const app = await startApp({ attempts, trustedProxies: ['127.0.0.1'] })
    const from = (hops: string) => hook(app, { ...bearerOf('x'), 'x-forwarded-for': hops })
    for (let failure = 0; failure < 3; failure++) await from(`${failure}.${failure}.0.1, 5.5.5.5`)
    expect((await from('9.9.9.9, 5.5.5.5')).status).toBe(429)
    expect((await from('5.5.5.5, 9.9.9.9')).status).toBe(401)
    for (let failure = 0; failure < 3; failure++) await from(`2001:db8::${failure}`)
    expect((await from('2001:db8::ffff')).status).toBe(429)
  })

  it('ignores forwarding headers of a proxy that is not trusted', async () => {
    const app = await startApp({ attempts })
    for (let failure = 0; failure < 3; failure++)
      await hook(app, { ...bearerOf('x'), 'x-forwarded-for': `${failure}.1.1.1` })
    expect((await hook(app, { ...bearerOf('x'), 'x-forwarded-for': '7.7.7.7' })).status).toBe(429)
  })
})

describe('a gateway route group', () => {
  it('accepts only a bearer token', async () => {
    const app = await startApp()
    expect((await tool(app, bearerOf(encoded))).status).toBe(200)
    expect((await tool(app, bearerOf(password))).status).toBe(200)
    expect((await tool(app, { 'x-svc-token': encoded })).status).toBe(401)
    expect((await tool(app, bearerOf(token))).status).toBe(401)
    expect((await post(app, '/tools/invoke?token=x', bearerOf(encoded))).type).toBe('token_in_query')
  })

  it('does not count failures from this machine, unless it forwards the request of another client', async () => {
    const app = await startApp({ attempts })
    for (let failure = 0; failure < 5; failure++) expect((await tool(app, {})).status).toBe(401)
    const forwarded = { ...bearerOf('x'), 'x-forwarded-for': '127.0.0.1' }
    for (let failure = 0; failure < 3; failure++) expect((await tool(app, forwarded)).status).toBe(401)
    expect(await tool(app, forwarded)).toMatchObject({ status: 429, retryAfter: '60' })
    expect((await tool(app, bearerOf(encoded))).status).toBe(200)
  })

  it('counts failures from this machine when the Host is a DNS name', async () => {
    const app = await startApp({ attempts })
    const guess = async (host: string) => {
      const headers = ['Authorization: Bearer guess', 'Content-Length: 0', 'Connection: close']
      const bytes = rawRequest('', { path: '/tools/invoke', headers }).replace(`Authorization: Bearer ${token}\r\n`, '')
      return statusLines(await exchange(app.port, bytes.replace('Host: localhost', `Host: ${host}`)))[0]
    }
    for (let failure = 0; failure < 5; failure++) expect(await guess('localhost:18789')).toBe('401')
    for (let failure = 0; failure < 3; failure++) expect(await guess('rebound.example:18789')).toBe('401')
    expect(await guess('rebound.example:18789')).toBe('429')
    expect(await guess('127.0.0.1')).toBe('401')
  })

  it('counts a missing credential, and refuses even the right one during a lockout', async () => {
    const app = await startApp({ attempts, exemptLoopback: false })
    for (let failure = 0; failure < 3; failure++) expect((await tool(app, {})).status).toBe(401)
    expect(await tool(app, bearerOf(encoded))).toMatchObject({ status: 429, type: 'rate_limited' })
    const other = await startApp({ attempts, exemptLoopback: false })
    for (const headers of [{}, {}, bearerOf(encoded), {}]) await tool(other, headers)
    // Who shares an address with a guesser does not clear its count.
    expect((await tool(other, bearerOf(encoded))).status).toBe(429)
    // The hook route group has a count of its own.
    expect((await hook(app, bearerOf('x'))).status).toBe(401)
  })
})

describe('createMatcher', () => {
  it('compares values of any length', () => {
    const matches = createMatcher('sécret')
    expect(matches('sécret')).toBe(true)
    for (const given of ['', 's', 'sécre', 'sécrett', 'secret', 'x'.repeat(1_000_000)])
      expect(matches(given)).toBe(false)
  })
})
