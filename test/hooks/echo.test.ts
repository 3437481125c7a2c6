// Generic verification requests (`auth.handshake`): what is echoed, its limits, and that they start nothing.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { problemsOf } from '../config/document.ts'
import { hookToken, shareGateway } from '../helpers.ts'

const secret = 'a secret of the sender'
const quiet = { deliver: false, wakeMode: 'next-heartbeat', messageTemplate: 'x' }
const hmac = { scheme: 'hmac', header: 'my-signature', secret }
const sign = (body: string) => ({ 'my-signature': createHmac('sha256', secret).update(body).digest('hex') })

describe('auth.handshake', () => {
  const gateway = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      mappings: [
        { match: { path: 'query' }, auth: { ...hmac, handshake: { query: 'challenge' } }, ...quiet },
        { match: { path: 'header' }, auth: { ...hmac, handshake: { header: 'X-Hook-Code' } }, ...quiet },
        { match: { path: 'head' }, auth: { scheme: 'token', secret, handshake: { head: true } }, ...quiet },
        {
          match: { path: 'all' },
          auth: { scheme: 'meta', secret, verifyToken: 'agreed', handshake: { query: 'c', header: 'x-c', head: true } },
          ...quiet,
        },
        { match: { path: 'none' }, auth: hmac, ...quiet },
      ],
    },
  })
  const { get } = gateway
  const send = (path: string, init?: RequestInit) => gateway.send(`/hooks/${path}`, init)

  it('echoes a query parameter as plain text', async () => {
    const response = await send('query?challenge=%3Cb%3Ea+b&more=1')
    expect([response.status, await response.text()]).toEqual([200, '<b>a b'])
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await get('/api/requests?hook=query')).body.items).toEqual([])
  })

  it.each([
    '',
    '?challenge=',
    '?challenge=a&challenge=b',
    '?challenge=%0a',
    '?challenge=%C3%BC',
    `?challenge=${'x'.repeat(257)}`,
  ])('rejects a GET with the query %s', async (query) => {
    const response = await send(`query${query}`)
    expect([response.status, await response.json()]).toEqual([
      400,
      { ok: false, error: { type: 'invalid_request', message: expect.any(String) } },
    ])
  })

  it('echoes a header of a POST, whoever sends it, and never takes the request for an event', async () => {
    for (const headers of [{}, sign('{}'), { authorization: `Bearer ${hookToken}` }]) {
      const init = { method: 'POST', headers: { 'x-hook-code': 'c0de', ...headers }, body: '{}' }
      const response = await send('header', init)
      expect([response.status, response.headers.get('x-hook-code'), await response.text()]).toEqual([200, 'c0de', ''])
    }
    const long = await send('header', { method: 'POST', headers: { 'x-hook-code': 'x'.repeat(257) }, body: '{}' })
    expect([long.status, long.headers.has('x-hook-code')]).toEqual([400, false])
    expect((await get('/api/requests?hook=header&status=accepted')).body.items).toEqual([])
    const event = await send('header', { method: 'POST', headers: sign('{}'), body: '{}' })
    expect(await event.json()).toMatchObject({ ok: true, runId: expect.any(String) })
    expect((await send('header', { method: 'POST', body: '{}' })).status).toBe(401)
  })

  it('answers HEAD', async () => {
    const response = await send('head', { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    const other = await send('head')
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'HEAD, POST'])
  })

  it('can combine all of them with a scheme that has its own', async () => {
    expect(await (await send('all?c=1')).text()).toBe('1')
    const meta = 'all?hub.mode=subscribe&hub.challenge=2&hub.verify_token='
    expect(await (await send(`${meta}agreed`)).text()).toBe('2')
    expect((await send(`${meta}guessed`)).status).toBe(401)
    expect((await send('all', { method: 'HEAD' })).status).toBe(200)
    expect((await send('all', { method: 'POST', headers: { 'x-c': '3' } })).headers.get('x-c')).toBe('3')
  })

  it('is off by default', async () => {
    expect([(await send('none?challenge=1')).status, (await send('none', { method: 'HEAD' })).status]).toEqual([
      405, 405,
    ])
  })

  it('is in the OpenAPI document', async () => {
    const { paths } = (await get('/openapi.json')).body
    expect(paths['/hooks/query'].get).toMatchObject({ security: [], parameters: [{ name: 'challenge', in: 'query' }] })
    expect(paths['/hooks/head'].head).toMatchObject({ security: [], summary: expect.any(String) })
    expect(paths['/hooks/none']).not.toHaveProperty('get')
  })

  it.each([
    [{}, 'auth.handshake must not be empty'],
    [{ queri: 'c' }, 'auth.handshake.queri is not a known key; did you mean "query"?'],
    [{ query: 'token' }, 'auth.handshake.query must not be "token"'],
    [{ header: 'Set-Cookie' }, 'auth.handshake.header must be a header of the service'],
    [{ header: 'X-Request-Id' }, 'auth.handshake.header must be a header of the service'],
  ])('must be valid: %j', (handshake, problem) => {
    const mapping = { match: { path: 'x' }, messageTemplate: 'm', deliver: false, auth: { ...hmac, handshake } }
    expect(problemsOf(JSON.stringify({ hooks: { mappings: [mapping] } }))).toEqual([expect.stringContaining(problem)])
  })
})
