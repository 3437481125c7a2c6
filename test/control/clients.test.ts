// The clients of the gateway: when each was last used, lockouts for guessed tokens, and WebSockets that end with their
// token.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClientUse } from '../../core/control/client-use.ts'
import { createCursorSeal } from '../../core/control/cursor.ts'
import { createTestContext } from '../contracts/context.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { connectRpc } from './rpc-client.ts'

const token = (name: string): string => `token-of-${name}-0123456789-0123456789`
const client = (name: string, changes: Document = {}): Document => ({
  name,
  role: 'viewer',
  token: token(name),
  ...changes,
})
const bearer = (name: string) => ({ authorization: `Bearer ${token(name)}` })
const auth = (clients: Document[], changes: Document = {}) => ({
  gateway: { auth: { token: gatewayToken, clients, ...changes } },
})

describe('the last use of a client', () => {
  it('is in the API, without the tokens, and survives a restart', async () => {
    const dir = temporaryFolder()
    const document = auth([client('ann'), client('bob', { role: 'operator', agents: ['main'] })])
    const first = await startGateway(document, dir)
    const before = Date.now()
    await first.get('/api/runs', bearer('ann'))
    const { body } = await first.get('/api/clients')
    expect(body.items).toEqual([
      { name: 'ann', role: 'viewer', content: false, lastUsedAt: expect.any(String) },
      { name: 'bob', role: 'operator', content: true, agents: ['main'] },
    ])
    const { lastUsedAt } = body.items[0]
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(before)
    expect((await first.get('/api/clients', bearer('bob'))).status).toBe(403)
    await first.gateway.close()
    const again = await startGateway(document, dir)
    expect((await again.get('/api/clients')).body.items[0]).toMatchObject({ name: 'ann', lastUsedAt })
  })

  it('is written once a minute, however often the client calls', async () => {
    const written: unknown[] = []
    const store = {
      getState: async () => undefined,
      setState: async (...args: unknown[]) => void written.push(args),
    }
    let now = 1_000_000
    const use = createClientUse({ store, now: () => now, log: createTestContext().log })
    for (let n = 0; n < 1000; n++) use.note('ann')
    now += 59_999
    use.note('ann')
    expect(written).toEqual([['client-use', 'ann', 1_000_000]])
    expect(await use.find('ann')).toBe(1_059_999)
    now += 1
    use.note('ann')
    expect(written).toHaveLength(2)
  })
})

it('guessed tokens of clients lock their address out, also with the right token', async () => {
  const { get } = await startGateway(auth([client('ann')], { rateLimit: { maxAttempts: 3, exemptLoopback: false } }))
  expect((await get('/api/runs', bearer('ann'))).status).toBe(200)
  for (let guess = 0; guess < 3; guess++) expect((await get('/api/runs', bearer(`ann${guess}`))).status).toBe(401)
  const locked = await get('/api/runs', bearer('ann'))
  expect([locked.status, locked.body.error.type]).toEqual([429, 'rate_limited'])
})

it('an expired token is a failed attempt', async () => {
  const clients = [client('ann', { notAfter: '2020-01-01T00:00:00Z' })]
  const { get } = await startGateway(auth(clients, { rateLimit: { maxAttempts: 2, exemptLoopback: false } }))
  for (let attempt = 0; attempt < 2; attempt++) expect((await get('/api/runs', bearer('ann'))).status).toBe(401)
  expect((await get('/api/runs')).status).toBe(429)
})

describe('a WebSocket', () => {
  it('closes when the token of its client expires', async () => {
    const notAfter = Date.now() + 3_600_000
    const { url, get } = await startGateway(auth([client('ann', { notAfter: new Date(notAfter).toISOString() })]))
    // Only the clock is set; timers run on.
    vi.useFakeTimers({ toFake: ['Date'], now: notAfter - 100 })
    onTestFinished(() => void vi.useRealTimers())
    const rpc = await connectRpc(url)
    expect(await rpc.call('auth', { token: token('ann') })).toMatchObject({ result: { ok: true } })
    expect(await rpc.closed).toEqual({ code: 1008, reason: 'The token of this client has expired; ask for a new one.' })
    vi.setSystemTime(notAfter + 1)
    expect((await get('/api/runs', bearer('ann'))).status).toBe(401)
  })

  it('closes when its client is revoked, whose token is then refused', async () => {
    const running = await startGateway(auth([client('ann'), client('bob')]))
    const rpc = await connectRpc(running.url)
    await rpc.call('auth', { token: token('ann') })
    await rpc.call('subscribe', { topics: ['run'] })
    await reconfigure(running, auth([client('bob')]))
    expect((await rpc.closed).code).toBe(1001)
    const again = await connectRpc(running.url)
    expect(await again.call('auth', { token: token('ann') })).toMatchObject({
      error: { data: { type: 'unauthorized' } },
    })
  })
})

it('a sealed cursor is opened by every gateway with the same credential, and by no other', () => {
  const [one, other] = [createCursorSeal('secret'), createCursorSeal('secret')]
  const sealed = one.seal('1.2.agent:main:one')
  expect(sealed).not.toBe(one.seal('1.2.agent:main:one'))
  expect(other.open(sealed)).toBe('1.2.agent:main:one')
  const problem = 'cursor is not valid any more'
  expect(() => createCursorSeal('another').open(sealed)).toThrow(problem)
  const tampered = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA')
  for (const text of [tampered, 's.', 's.abcd', '1.2.agent:main:one']) expect(() => one.open(text)).toThrow(problem)
})
