// Tests what all routes share: the envelope, the headers, the log line, the order of checks.
import { describe, expect, it } from 'vitest'
import { errorTable, GatewayError } from '../../core/errors.ts'
import { toGatewayError } from '../../core/http/replies.ts'
import { bearer, password, startApp, token } from './app.ts'

const post = (url: string, body = '{}', headers: Record<string, string> = bearer) =>
  fetch(url, { method: 'POST', body, headers })

async function expectFailure(response: Response, status: number, type: string): Promise<void> {
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const body = (await response.json()) as { error: { message: string } }
  expect(body).toEqual({ ok: false, error: { type, message: expect.any(String) } })
  expect(body.error.message).not.toBe('')
}

describe('every response', () => {
  it('has its own request id and the security headers', async () => {
    const { url } = await startApp()
    const responses = await Promise.all([
      fetch(`${url}/healthz`, { headers: { 'x-request-id': 'mine' } }),
      post(`${url}/hooks/echo`),
      post(`${url}/hooks/echo`, '['),
      fetch(`${url}/nothing`),
      post(`${url}/hooks/%zz`),
      fetch(`${url}/hooks/echo`, { method: 'PUT' }),
    ])
    for (const { headers } of responses) {
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/)
    }
    expect(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size).toBe(responses.length)
  })
})

describe('a failure', () => {
  it('returns the envelope for every kind of error', async () => {
    const { url } = await startApp()
    await expectFailure(await fetch(`${url}/nothing`), 404, 'not_found')
    await expectFailure(await post(`${url}/hooks/%zz`), 400, 'invalid_request')
    await expectFailure(await post(`${url}/hooks/echo`, '{}', {}), 401, 'unauthorized')
    await expectFailure(await post(`${url}/hooks/echo`, '{"a":'), 400, 'invalid_json')
    await expectFailure(await post(`${url}/hooks/broken`), 500, 'internal_error')
    await expectFailure(
      await post(`${url}/hooks/echo`, '{}', { ...bearer, 'content-encoding': 'gzip' }),
      415,
      'unsupported_encoding',
    )
  })

  it('names the field that does not match the schema', async () => {
    const { url, reached } = await startApp()
    const sentence = async (body: string) =>
      ((await (await post(`${url}/hooks/checked`, body)).json()) as { error: { message: string } }).error.message
    expect(await sentence('{}')).toBe('text is required.')
    expect(await sentence('{"text":5}')).toBe('text must be a string.')
    expect(await sentence('{"text":"x","mode":"soon"}')).toBe('mode must be one of "now", "later".')
    expect(reached).toEqual([])
  })

  it('with an internal cause reveals nothing of it, in the response or in the log', async () => {
    const { url, lines } = await startApp()
    const response = await post(`${url}/hooks/broken?secret=1`)
    expect(await response.json()).toEqual({
      ok: false,
      error: { type: 'internal_error', message: errorTable.internal_error[1] },
    })
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'error',
      reqId: response.headers.get('x-request-id'),
      method: 'POST',
      path: '/hooks/broken',
      status: 500,
      type: 'internal_error',
      cause: 'TypeError',
      at: expect.stringContaining('app.ts'),
      client: '127.0.0.1',
    })
    expect(lines[0]).not.toMatch(/payload|forged|secret/)
  })

  it('writes one log line without token, payload or query; a success writes none', async () => {
    const { url, lines } = await startApp()
    await post(`${url}/hooks/echo`, '{"a":"canary-payload"}')
    expect(lines).toEqual([])
    await post(`${url}/hooks/echo?token=${token}`, '{"a":"canary-payload"}')
    await post(`${url}/hooks/echo`, '{"a":"canary-payload"}', { authorization: 'Bearer canary-token' })
    await post(`${url}/hooks/echo`, '{"canary-payload', bearer)
    const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(found.map(({ status, type, path, bodyBytes }) => [status, type, path, bodyBytes])).toEqual([
      [400, 'token_in_query', '/hooks/echo', 22],
      [401, 'unauthorized', '/hooks/echo', 22],
      [400, 'invalid_json', '/hooks/echo', 16],
    ])
    expect(lines.join()).not.toMatch(/canary|hook-token/)
  })

  it('of Fastify itself becomes an error of the table with a fixed message', () => {
    const thrown = (statusCode: number) => toGatewayError(Object.assign(new Error('holds payload'), { statusCode }))
    expect(
      [thrown(404), thrown(413), thrown(414), thrown(400), thrown(500)].map(({ code, publicMessage }) => [
        code,
        publicMessage,
      ]),
    ).toEqual([
      ['not_found', errorTable.not_found[1]],
      ['payload_too_large', errorTable.payload_too_large[1]],
      ['invalid_request', errorTable.invalid_request[1]],
      ['invalid_request', errorTable.invalid_request[1]],
      ['internal_error', errorTable.internal_error[1]],
    ])
  })
})

describe('a method that a path does not support', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY', 'LOCK'])(
    'returns 405 with Allow for %s',
    async (method) => {
      const { url } = await startApp()
      for (const path of ['/hooks/echo', '/hooks/any/name', '/hooks/%65cho', '/tools/invoke']) {
        const response = await fetch(url + path, { method })
        expect(response.status).toBe(405)
        expect(response.headers.get('allow')).toBe('POST')
      }
    },
  )

  it('is refused before the query, the credential and the body are checked, and counts as no attempt', async () => {
    const { url } = await startApp({ attempts: { maxAttempts: 1, windowMs: 60_000, lockoutMs: 60_000 } })
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`${url}/hooks/echo?token=x`, {
        method: 'PUT',
        body: '[',
        headers: { 'content-type': ';bad' },
      })
      expect(response.status).toBe(405)
    }
    expect((await post(`${url}/hooks/echo`, '{}', {})).status).toBe(401)
  })

  it('is answered with all methods of the path in Allow', async () => {
    const { url } = await startApp()
    expect((await fetch(`${url}/healthz`, { method: 'DELETE' })).headers.get('allow')).toBe('GET, HEAD')
    expect((await fetch(`${url}/tools`, { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD')
  })
})

describe('a path', () => {
  it('returns 404 when it only resembles a route', async () => {
    const { url } = await startApp()
    for (const path of [
      '/HOOKS/echo',
      '/hook',
      '/tools/',
      '/tools//invoke',
      '/tools/invoke/',
      '/tools/invoke;x',
      '/x/%2e%2e%2ftools',
    ]) {
      await expectFailure(await post(url + path), 404, 'not_found')
    }
  })

  it('is decoded once, and may be long', async () => {
    const { url } = await startApp()
    const name = async (path: string) => ((await (await post(url + path)).json()) as { name: string }).name
    expect(await name('/hooks/a%2520b')).toBe('a%20b')
    expect(await name('/hooks/x//y')).toBe('x//y')
    expect(await name(`/hooks/${'n'.repeat(8_192)}`)).toBe('n'.repeat(8_192))
  })
})

describe('checks', () => {
  it('run in order: method, token in the query, credential, body, schema', async () => {
    const { url } = await startApp()
    const path = `${url}/hooks/checked`
    const type = async (response: Promise<Response>) =>
      ((await (await response).json()) as { error: { type: string } }).error.type
    expect(await type(post(`${path}?%74oken=x`, '[', {}))).toBe('token_in_query')
    expect(await type(post(path, '[', {}))).toBe('unauthorized')
    expect(await type(post(path, '['))).toBe('invalid_json')
    expect(await type(post(path, '{}'))).toBe('invalid_request')
  })
})

describe('a gateway that is not ready', () => {
  it('returns 503 with Retry-After on every route except health', async () => {
    let ready = false
    const { url, lines } = await startApp({ isReady: () => ready })
    const response = await post(`${url}/hooks/echo`)
    expect(response.headers.get('retry-after')).toBe('1')
    await expectFailure(response, 503, 'shutting_down')
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    await expectFailure(await fetch(`${url}/readyz`), 503, 'shutting_down')
    // The gateway has no fault, so it must not log an error.
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'info', type: 'shutting_down' },
      { level: 'info', type: 'shutting_down' },
    ])
    ready = true
    expect((await post(`${url}/hooks/echo`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })
})

describe('GET /readyz', () => {
  it('returns 503 while the store cannot commit', async () => {
    let broken = true
    const { url } = await startApp({ probe: async () => (broken ? Promise.reject(new Error('disk full')) : undefined) })
    await expectFailure(await fetch(`${url}/readyz`), 503, 'store_unavailable')
    broken = false
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ok: true })
  })

  it('returns store_damaged when the store is damaged', async () => {
    const { url } = await startApp({
      probe: () => Promise.reject(new GatewayError('store_damaged', '/state/gateway.db is damaged')),
    })
    const response = await fetch(`${url}/readyz`)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await response.clone().text()).not.toContain('/state')
    await expectFailure(response, 503, 'store_damaged')
  })

  it('probes the store once for concurrent requests, with a time limit', async () => {
    let probes = 0
    const { url } = await startApp({
      probe: () => {
        probes++
        return new Promise(() => {})
      },
    })
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/readyz`)))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(503))
    expect(probes).toBeLessThanOrEqual(2)
  })
})

describe('POST /tools/invoke', () => {
  it('accepts a non-ASCII credential in either encoding', async () => {
    const { url } = await startApp()
    const utf8 = Buffer.from(password).toString('latin1')
    for (const value of [utf8, password])
      expect((await post(`${url}/tools/invoke`, '{}', { authorization: `Bearer ${value}` })).status).toBe(200)
  })
})
