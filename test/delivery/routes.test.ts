// GET and POST /channels/<name>: requests of platforms, through a whole gateway and the real API.
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const token = 'token-of-the-phone'
const plugins = [fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))]
const operator = { authorization: `Bearer ${gatewayToken}` }
const signed = { 'x-signature': token }

async function start(changes: Document = {}, phone: object = { allowFrom: ['*'] }) {
  const gateway = await startGateway({ plugins, channels: { phone: { token, ...phone } }, ...changes })
  const { get, post } = gateway
  const account = async () => (await get('/api/channels')).body.accounts.at(-1)
  // Also used before the first test, where there is no `expect.poll`.
  const becomes = (state: string) =>
    vi.waitFor(async () => expect(await account()).toMatchObject({ state }), { timeout: 20_000 })
  const link = async (body: object = {}) => {
    await post('/api/channels/phone/login', body, operator)
    await becomes('connected')
  }
  const call = (body: object, headers: Record<string, string> = signed, path = '/channels/phone') =>
    post(path, body, { authorization: '', ...headers })
  return { ...gateway, becomes, link, call, account }
}

/** Its channel is linked, and two attempts may fail. */
const linked = share(async () => {
  const running = await start({ hooks: { rateLimit: { maxAttempts: 2 } } })
  await running.link()
  return running
})

/** Its channel is not linked. */
const unlinked = share(async () => {
  const running = await start()
  await running.becomes('login_required')
  return running
})

const message = { id: 'm1', from: { id: '123' }, to: '123', text: 'hello' }

describe('POST /channels/<name>', () => {
  it('hands the request to the channel without the credential of the gateway', async () => {
    const { call, get } = linked()
    const runs = async () => (await get('/api/runs')).body.items.length
    const before = await runs()
    const answer = await call({ ...message, id: 'once' })
    expect([answer.status, answer.body]).toEqual([202, { received: 'accepted' }])
    expect((await call({ ...message, id: 'once' })).body).toEqual({ received: 'duplicate' })
    expect(await runs()).toBe(before + 1)
  })

  it('passes on what the channel refuses, and limits failed attempts by address', async () => {
    const { call, get } = linked()
    const wrong = { 'x-signature': 'wrong' }
    expect((await call(message, wrong)).body).toEqual({ error: 'signature' })
    const statuses = [(await call(message, wrong)).status, (await call(message, wrong)).status]
    expect(statuses).toEqual([401, 429])
    // Only a request that the channel has accepted shows that its sender has the secret.
    expect((await get('/channels/phone?challenge=1')).status).toBe(200)
    for (const status of [400, 404, 405]) await call(message, wrong, `/channels/phone?status=${status}`)
    expect((await call(message, wrong)).status).toBe(429)
    expect((await call(message)).status).toBe(202)
    expect((await call(message, wrong)).status).toBe(401)
  })

  it('answers 404 the same way for everything that takes no requests', async () => {
    const { call } = unlinked()
    const paths = [
      '/channels/phone',
      '/channels/console',
      '/channels/nothing',
      '/channels/phone/other',
      '/channels/%2e',
    ]
    const answers = await Promise.all(paths.map((path) => call(message, signed, path)))
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 404, body: { error: { type: 'not_found' } } })
  })

  it('answers 503 with Retry-After when the channel fails, and logs why without secrets', async () => {
    const { call, logged } = linked()
    for (const body of [{ broken: true }, { odd: true }]) {
      const answer = await call(body)
      expect([answer.status, answer.body.error.type]).toEqual([503, 'channel_unavailable'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    const lines = logged.filter((line) => line.includes('failed at a request of its platform'))
    expect(lines).toHaveLength(2)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      channel: 'phone',
      accountId: 'default',
      reason: expect.stringMatching(/^Error: broken by /),
      at: expect.stringContaining('phone.mjs'),
    })
    expect(JSON.parse(lines[1]!).reason).toBe(
      'TypeError: handle must return { status, body? } with a status from 200 to 599',
    )
  })

  it('answers 503 in time while messages cannot be stored, and stores the message when it comes again', async () => {
    const model = await startModel()
    model.otherwise({ hang: true })
    const { call, link, get, post } = await start({
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m', maxConcurrent: 1 } },
      providers: model.providers,
      hooks: { maxQueuedRuns: 1 },
      gateway: { drainSeconds: 0 },
    })
    await link()
    for (const id of ['runs', 'waits']) {
      expect((await call({ ...message, id })).status).toBe(202)
      await model.request(0)
    }
    const answer = await call({ ...message, id: 'late' })
    expect([answer.status, answer.body.error.type]).toEqual([503, 'channel_unavailable'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    const { items } = (await get('/api/runs?status=running')).body
    await post(`/api/runs/${items[0].id}/cancel`, {}, operator)
    await expect.poll(async () => (await call({ ...message, id: 'late' })).body.received).toBe('accepted')
  })

  it('refuses a body of more than 1 MiB', async () => {
    const { call } = linked()
    const pad = (length: number) => ({ ...message, text: '', pad: 'x'.repeat(length) })
    const rest = JSON.stringify(pad(0)).length
    expect((await call(pad(1024 * 1024 - rest))).status).toBe(202)
    expect((await call(pad(1024 * 1024 - rest + 1))).status).toBe(413)
  })

  it('reaches each of several accounts by its id', async () => {
    const accounts = { one: {}, two: {} }
    const { call, link, get } = await start({}, { accounts, allowFrom: ['*'] })
    await link({ account: 'two' })
    const statusOf = async (path: string) => (await call(message, signed, path)).status
    expect(await statusOf('/channels/phone/two')).toBe(202)
    expect([await statusOf('/channels/phone'), await statusOf('/channels/phone/one')]).toEqual([404, 404])
    expect(Object.keys((await get('/openapi.json')).body.paths)).toContain('/channels/phone/two')
  })
})

describe('GET /channels/<name>', () => {
  it('answers a verification request as text', async () => {
    const { url } = linked()
    const response = await fetch(`${url}/channels/phone?challenge=4711&token=x`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(await response.text()).toBe('4711')
  })

  it('is in the OpenAPI document while the channel takes requests', async () => {
    const { get, link } = await start()
    const paths = async () => (await get('/openapi.json')).body.paths as Record<string, object>
    expect(await paths()).not.toHaveProperty('/channels/phone')
    await link()
    expect(Object.keys((await paths())['/channels/phone']!)).toEqual(['get', 'post'])
  })
})

describe('the state of a channel', () => {
  it('is in the list of channels, in the list of extensions and in the metrics', async () => {
    const { get, url, account } = unlinked()
    expect(await account()).toEqual({
      channel: 'phone',
      accountId: 'default',
      state: 'login_required',
      since: expect.stringMatching(/^20/),
      reason: 'The phone is not linked.',
      hasLogin: true,
    })
    const { channels } = (await get('/api/extensions')).body
    expect(channels.find(({ name }: { name: string }) => name === 'phone').accounts).toMatchObject([
      { accountId: 'default', state: 'login_required' },
    ])
    const metrics = await (await fetch(`${url}/metrics`, { headers: operator })).text()
    expect(metrics).toContain('svc_gateway_channel_connected{channel="phone",account="default"} 0')
    expect(metrics).toContain('svc_gateway_channel_state{channel="phone",account="default",state="login_required"} 1')
  })

  it('and the codes of a login are not in the log', async () => {
    const { link, logged, get, post } = await start()
    await post('/api/channels/phone/login', {}, operator)
    expect((await get('/api/channels/phone/login')).body).toMatchObject({ status: 'waiting', qr: 'code-one-secret' })
    await link()
    expect(logged.filter((line) => line.includes('secret'))).toEqual([])
    expect((await post('/api/channels/console/login', {}, operator)).body.error.message).toBe(
      'The channel "console" needs no login.',
    )
  })

  it('is linked with an address and answers, which only the operator gives', async () => {
    const gateway = { auth: { token: gatewayToken }, tools: { allow: ['phone_login'] } }
    const { post, get, becomes } = await start({ gateway }, { token: 'ask-in-a-browser' })
    const url = 'https://phone.example/device?user_code=code-one-secret'
    const started = await post('/api/channels/phone/login', {}, operator)
    expect(started.body).toMatchObject({ status: 'waiting', url, code: 'code-one-secret' })
    const question = async () => (await get('/api/channels/phone/login')).body.question
    await expect.poll(question).toMatchObject({ text: 'Password of the phone', secret: true })
    const answer = async (text: string) =>
      await post('/api/channels/phone/login/answer', { questionId: (await question()).id, answer: text }, operator)
    expect((await answer('hunter2-secret')).body).toMatchObject({ question: { text: 'Code from the app' } })
    expect((await answer('0000')).body).toMatchObject({ status: 'waiting', question: { text: 'Code from the app' } })
    expect((await answer('')).body.error.message).toContain('answer')
    const call = { tool: 'phone_login', args: { action: 'status' } }
    const { result } = (await post('/tools/invoke', call, operator)).body
    expect(result).toMatchObject({ status: 'waiting', question: { text: 'Code from the app', secret: false } })
    const late = { questionId: 'another', answer: '4711' }
    expect((await post('/api/channels/phone/login/answer', late, operator)).body.error).toMatchObject({
      type: 'invalid_request',
      message: 'The login does not ask this question any more; ask for its state.',
    })
    expect((await answer('4711')).body).toMatchObject({ status: 'linked' })
    await becomes('connected')
  })

  it('can be changed by its login tool, over HTTP only if that is allowed by name', async () => {
    const call = { tool: 'phone_login', args: { action: 'start' } }
    expect((await unlinked().post('/tools/invoke', call, operator)).body.error.type).toBe('tool_not_available')
    const gateway = { auth: { token: gatewayToken }, tools: { allow: ['phone_login'] } }
    const { post } = await start({ gateway })
    const { result } = (await post('/tools/invoke', call, operator)).body
    expect(result).toMatchObject({ status: 'waiting', qr: 'code-one-secret' })
  })
})
