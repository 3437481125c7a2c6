// Tests the WebSocket of a whole gateway: handshake, methods, topics and close.
import { describe, expect, it } from 'vitest'
import { startModel } from '../../doubles/model.ts'
import { ask, type Document, gatewayToken, hookToken, startGateway } from '../../helpers.ts'
import { share } from '../../share.ts'
import { connectRpc, login, refusal } from '../rpc-client.ts'

const still = { agents: { defaults: { heartbeat: { every: 0 } } } }
const denying = (tool: string) => ({ groups: { '*': { tools: { deny: [tool] } } } })
const shared = share(() =>
  startGateway({
    ...still,
    gateway: { allowedOrigins: ['https://app.example.com'] },
    tools: { deny: ['session_status'] },
    channels: {
      console: {
        file: 'console.jsonl',
        defaultTo: 'console',
        ...denying('agents_list'),
        accounts: { ops: { file: 'ops.jsonl', ...denying('sessions_list') } },
      },
    },
  }),
)
const auth = (token: string) => JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'auth', params: { token } })

async function startWithModel(changes: Document = {}) {
  const model = await startModel()
  return {
    model,
    ...(await startGateway({
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      providers: model.providers,
      ...changes,
    })),
  }
}

/** Each test scripts what the model answers next. */
const talking = share(() => startWithModel({ hooks: { maxQueuedRuns: 1 } }))

describe('the handshake at /ws', () => {
  it('returns 426 to a request without an upgrade, and 405 to other methods', async () => {
    const { url, get, post } = shared()
    const { status, body, headers } = await get('/ws')
    expect([status, body.error.type, headers.get('upgrade')]).toEqual([426, 'upgrade_required', 'websocket'])
    expect((await post('/ws', {})).status).toBe(405)
    expect(
      (await ask(`${url}/ws`, { headers: { connection: 'upgrade', upgrade: 'h2c' } }).catch(() => ({ status: 426 })))
        .status,
    ).toBe(426)
  })

  it('returns 400 to a token in the URL, even to the right one', async () => {
    const { url } = shared()
    const { status, body } = await refusal(`${url}/ws?token=${gatewayToken}`)
    expect([status, body.error.type]).toEqual([400, 'token_in_query'])
  })

  it('returns 403 to pages of other origins', async () => {
    const { url, logged } = shared()
    for (const origin of [
      'https://evil.example.com',
      'null',
      'https://app.example.com.evil.example',
      'http://app.example.com',
    ]) {
      const { status, body, headers } = await refusal(`${url}/ws`, { origin })
      expect([status, body.error.type]).toEqual([403, 'origin_not_allowed'])
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{12}-/)
    }
    expect(logged.filter((line) => line.includes('origin_not_allowed'))).toHaveLength(4)
  })

  it('accepts pages of its own and of listed origins, and programs', async () => {
    const { url } = shared()
    for (const origin of [url, 'https://app.example.com', undefined]) {
      const client = await login(url, origin === undefined ? {} : { origin })
      expect((await client.call('subscribe', { topics: ['run'] })).result).toEqual({ topics: ['run'] })
    }
  })

  it('is possible only at /ws; elsewhere an upgrade request is handled as HTTP', async () => {
    const { url } = shared()
    expect((await refusal(`${url}/healthz`)).body).toEqual({ ok: true })
    expect((await refusal(`${url}/ws/`)).body.error.type).toBe('not_found')
  })
})

describe('auth', () => {
  it.each([
    ['a wrong token', auth('wrong')],
    ['the hook token', auth(hookToken)],
    ['no token', '{"jsonrpc":"2.0","id":"a","method":"auth"}'],
    ['another method first', '{"jsonrpc":"2.0","id":"a","method":"subscribe"}'],
    ['a method that there is not', '{"jsonrpc":"2.0","id":"a","method":"nothing"}'],
  ])('refuses %s and closes the connection', async (_what, text) => {
    const { url } = shared()
    const client = await connectRpc(url)
    const { id, error } = await client.exchange(text)
    expect([id, error.code, error.data]).toEqual(['a', -32_000, { type: 'unauthorized' }])
    expect(await client.closed).toEqual({ code: 1008, reason: 'The first message must authenticate.' })
  })

  it('closes the connection when the first message is not valid', async () => {
    const { url } = shared()
    const client = await connectRpc(url)
    expect((await client.exchange('hello')).error).toMatchObject({ code: -32_700, data: { type: 'invalid_json' } })
    expect((await client.closed).code).toBe(1008)
  })

  it('allows one attempt per connection', async () => {
    const { url } = shared()
    const client = await connectRpc(url)
    client.socket.send(auth('wrong'))
    client.socket.send(auth(gatewayToken))
    client.socket.send('{"jsonrpc":"2.0","id":1,"method":"subscribe"}')
    expect((await client.closed).code).toBe(1008)
    expect(client.notifications).toEqual([])
  })

  it('counts failures together with those over HTTP; a lockout also refuses the right credential', async () => {
    const { url, get } = await startGateway({
      ...still,
      gateway: { auth: { token: gatewayToken, rateLimit: { maxAttempts: 3, exemptLoopback: false } } },
    })
    await (await connectRpc(url)).exchange(auth('wrong'))
    await (await connectRpc(url)).exchange('{"jsonrpc":"2.0","id":1,"method":"runs.get","params":{"id":"x"}}')
    await get('/runs/x', { authorization: 'Bearer wrong' })
    const { error } = await (await connectRpc(url)).exchange(auth(gatewayToken))
    expect(error).toMatchObject({ code: -32_000, data: { type: 'rate_limited', retryAfter: expect.any(Number) } })
    expect((await get('/runs/x')).status).toBe(429)
  })

  it('counts failures from this machine when the Host is a DNS name', async () => {
    const { url } = await startGateway({
      ...still,
      gateway: { auth: { token: gatewayToken, rateLimit: { maxAttempts: 2 } } },
    })
    const guess = async (host: string, token: string) =>
      (await (await connectRpc(url, { headers: { host } })).exchange(auth(token))).error?.data.type
    for (let failure = 0; failure < 3; failure++) expect(await guess('localhost', 'wrong')).toBe('unauthorized')
    for (let failure = 0; failure < 2; failure++) expect(await guess('rebound.example', 'wrong')).toBe('unauthorized')
    expect(await guess('rebound.example', gatewayToken)).toBe('rate_limited')
    expect(await guess('localhost', gatewayToken)).toBeUndefined()
  })

  it('may be followed by more messages at once, also in one batch', async () => {
    const { url } = shared()
    const client = await connectRpc(url)
    const subscribe = '{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"topics":["event"]}}'
    expect(await client.exchange(`[${auth(gatewayToken)},${subscribe}]`)).toMatchObject([
      { result: { ok: true } },
      { result: { topics: ['event'] } },
    ])
  })

  it('does not log the credential', async () => {
    const { url, logged } = shared()
    const before = logged.length
    await (await connectRpc(url)).exchange(auth('a-guess-at-the-token'))
    await login(url)
    const lines = logged.slice(before).join()
    expect(lines).toContain('unauthorized')
    expect(lines).not.toMatch(new RegExp(`a-guess-at-the-token|${gatewayToken}`))
  })
})

describe('JSON-RPC', () => {
  const request = (fields: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'runs.get', params: { id: 'x' }, ...fields })
  const deep = `{"jsonrpc":"2.0","id":7,"method":"runs.get","params":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`

  it.each<[string, string, [number | null, number, string]]>([
    ['no JSON', '{', [null, -32_700, 'invalid_json']],
    ['a scalar', '5', [null, -32_600, 'invalid_request']],
    ['nothing', '', [null, -32_600, 'invalid_request']],
    ['too deep a nesting', deep, [null, -32_600, 'invalid_request']],
    ['another version', request({ jsonrpc: '1.0' }), [7, -32_600, 'invalid_request']],
    ['an id that is an object', request({ id: {} }), [null, -32_600, 'invalid_request']],
    ['a method that is no string', request({ method: 5 }), [7, -32_600, 'invalid_request']],
    ['params that are a string', request({ params: 'x' }), [7, -32_600, 'invalid_request']],
    ['an empty batch', '[]', [null, -32_600, 'invalid_request']],
    ['an unknown method', request({ method: 'runs.burn' }), [7, -32_601, 'not_found']],
    ['a method of objects', request({ method: 'constructor' }), [7, -32_601, 'not_found']],
    ['params that are a list', request({ params: ['x'] }), [7, -32_602, 'invalid_request']],
    ['missing params', request({ params: undefined }), [7, -32_602, 'invalid_request']],
    ['params of the wrong type', request({ params: { id: 5 } }), [7, -32_602, 'invalid_request']],
    ['an unknown run', request({}), [7, -32_000, 'run_not_found']],
  ])('answers %s with the right code', async (_what, text, expected) => {
    const { url } = shared()
    const client = await login(url)
    const { jsonrpc, ...answer } = await client.exchange(text)
    expect([jsonrpc, answer.id, answer.error.code, answer.error.data.type]).toEqual(['2.0', ...expected])
    expect((await client.call('subscribe', { topics: [] })).result).toEqual({ topics: [] })
  })

  it('names the invalid parameter without its value', async () => {
    const { url } = shared()
    const client = await login(url)
    expect((await client.call('chat.send', { sessionKey: 'x' })).error.message).toBe('text is required.')
    expect((await client.call('chat.send', { text: ' ' })).error.message).toBe('text must not be blank.')
    expect((await client.call('tools.invoke', { tool: 'agents_list', args: 'secret' })).error.message).toBe(
      'args must be an object.',
    )
  })

  it('answers batches with batches and notifications with nothing', async () => {
    const { url } = shared()
    const client = await login(url)
    const answers = await client.exchange(
      JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'subscribe', params: { topics: ['run'] } },
        { jsonrpc: '2.0', method: 'unsubscribe' },
        { jsonrpc: '2.0', method: 'nothing' },
        { jsonrpc: '2.0', id: null, method: 'subscribe', params: { topics: ['log'] } },
        5,
      ]),
    )
    expect(answers).toMatchObject([
      { id: 1, result: { topics: ['run'] } },
      { id: null, result: { topics: ['log'] } },
      { id: null, error: { code: -32_600 } },
    ])
    client.socket.send('[{"jsonrpc":"2.0","method":"unsubscribe"}]')
    expect((await client.call('subscribe', { topics: [] })).result).toEqual({ topics: [] })
  })

  it('refuses a batch that is too long', async () => {
    const { url } = shared()
    const client = await login(url)
    expect((await client.exchange(`[${'1,'.repeat(64)}1]`)).error).toMatchObject({
      code: -32_600,
      message: expect.stringContaining('more than 64'),
    })
  })
})

describe('subscribe', () => {
  it('subscribes to all or to the named topics, until unsubscribed', async () => {
    const { url } = shared()
    const client = await login(url)
    expect((await client.call('subscribe')).result).toEqual({
      topics: ['request', 'event', 'run', 'step', 'outbox', 'approval', 'log'],
    })
    expect((await client.call('unsubscribe', { topics: ['log', 'event'] })).result).toEqual({
      topics: ['request', 'run', 'step', 'outbox', 'approval'],
    })
    expect((await client.call('unsubscribe')).result).toEqual({ topics: [] })
    expect((await client.call('subscribe', { topics: ['run'] })).result).toEqual({ topics: ['run'] })
  })

  it('refuses all topics when one is unknown', async () => {
    const { url } = shared()
    const client = await login(url)
    const { error } = await client.call('subscribe', { topics: ['run', 'weather'] })
    expect([error.code, error.data.type, error.message]).toEqual([
      -32_602,
      'invalid_request',
      expect.stringContaining('request, event, run, step, outbox, approval, log'),
    ])
    expect((await client.call('subscribe', { topics: [] })).result).toEqual({ topics: [] })
  })

  it('notifies of requests, runs and deliveries, with the objects of the HTTP API', async () => {
    const { url, post, get } = shared()
    const client = await login(url)
    await client.call('subscribe', { topics: ['request', 'event', 'run', 'outbox'] })
    const { runId } = (
      await post('/hooks/agent', { message: 'Hello', name: 'Greeting', channel: 'console', wakeMode: 'next-heartbeat' })
    ).body
    await client.until(({ method, params }) => method === 'outbox' && params.status === 'sent')
    await client.until(({ method, params }) => method === 'run' && params.status === 'succeeded')
    const change = (topic: string) =>
      client.notifications.filter(({ method }) => method === topic).map(({ params }) => params)
    const { id: requestId } = change('request')[0]
    expect(change('run').map(({ status, requestId: from }) => [status, from])).toEqual([
      ['queued', requestId],
      ['running', requestId],
      ['succeeded', requestId],
    ])
    const run = (await get(`/runs/${runId}`)).body
    expect(change('run').at(-1)).toMatchObject({
      ...run,
      deliveries: [{ ...run.deliveries[0], status: expect.stringMatching(/pending|sent/) }],
    })
    expect(change('request')).toEqual((await get('/api/requests?limit=1')).body.items)
    expect(change('outbox').map(({ status }) => status)).toEqual(['pending', 'sent'])
    expect(change('outbox').at(-1)).toEqual((await get('/api/outbox')).body.items[0])
    expect(change('event')).toMatchObject([
      { sessionKey: 'agent:main:main', text: expect.stringContaining('Hook Greeting: '), mode: 'next-heartbeat' },
    ])
  })

  it('notifies of rejected requests, and of runs that are cancelled while queued', async () => {
    const { url, post, model } = talking()
    const before = model.requests.length
    model.script({ hang: true })
    const client = await login(url)
    await client.call('subscribe', { topics: ['request', 'run'] })
    await post('/hooks/wake', { text: 5 })
    const { params } = await client.until(({ method }) => method === 'request')
    expect(params).toMatchObject({ hook: 'wake', status: 'rejected', error: { type: 'invalid_request' } })
    void client.call('chat.send', { text: 'one' })
    const { params: first } = await client.until(({ method }) => method === 'run')
    await model.request(before)
    void client.call('chat.send', { text: 'two' })
    const { params: second } = await client.until(
      ({ method, params: { id, status } }) => method === 'run' && status === 'queued' && id !== first.id,
    )
    for (const { id } of [second, first]) {
      expect((await client.call('runs.cancel', { id })).result).toEqual({ ok: true, runId: id })
      await client.until(({ method, params }) => method === 'run' && params.id === id && params.status === 'cancelled')
    }
  })

  it('notifies of log lines, without secrets', async () => {
    const { url, get } = shared()
    const client = await login(url)
    await client.call('subscribe', { topics: ['log'] })
    await get(`/${gatewayToken}/${hookToken}`)
    const { params } = await client.until(({ params }) => params.fields?.type === 'not_found')
    expect(params).toMatchObject({
      level: 'info',
      component: 'http',
      message: 'request refused',
      at: expect.stringMatching(/^20.*Z$/),
    })
    expect(params.fields.path).toBe('/[redacted]/[redacted]')
  })

  it('notifies every subscriber, and none that has unsubscribed', async () => {
    const { url, post } = shared()
    const [first, second, left] = [await login(url), await login(url), await login(url)]
    for (const client of [first, second, left]) await client.call('subscribe', { topics: ['event'] })
    await left.call('unsubscribe')
    await post('/hooks/wake', { text: 'News.', mode: 'next-heartbeat' })
    const isExpected = ({ params }: { params: { text: string } }) => params.text === 'News.'
    expect(await first.until(isExpected)).toEqual(await second.until(isExpected))
    expect(left.notifications).toEqual([])
    first.socket.close()
    await first.closed
    await post('/hooks/wake', { text: 'More.', mode: 'next-heartbeat' })
    await second.until(({ params }) => params.text === 'More.')
  })
})

describe('chat.send', () => {
  it('streams the reply, then returns it', async () => {
    const { url, model, get } = talking()
    model.script({ text: 'Good morning to you.' })
    const client = await login(url)
    const { result } = await client.call('chat.send', { text: 'Good morning' })
    expect(result).toEqual({
      runId: expect.any(String),
      sessionKey: 'agent:main:main',
      status: 'succeeded',
      reply: 'Good morning to you.',
    })
    const replyStreams = client.notifications.map(({ method, params }) => [method, params.runId, params.text])
    expect(replyStreams[0]).toEqual(['chat.delta', result.runId, ''])
    expect(replyStreams.length).toBeGreaterThan(2)
    expect(replyStreams.map(([, , text]) => text).join('')).toBe('Good morning to you.')
    expect((await get(`/runs/${result.runId}`)).body).toMatchObject({
      kind: 'chat',
      origin: { kind: 'chat', trusted: true },
      deliveries: [],
    })
    expect((await client.call('runs.get', { id: result.runId })).result).toEqual(
      (await get(`/runs/${result.runId}`)).body,
    )
  })

  it('continues the conversation of its session only', async () => {
    const { url, model } = talking()
    const before = model.requests.length
    model.script({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' })
    const client = await login(url)
    expect((await client.call('chat.send', { sessionKey: 'Desk', text: 'first' })).result.sessionKey).toBe(
      'agent:main:desk',
    )
    await client.call('chat.send', { sessionKey: 'desk', text: 'second' })
    await client.call('chat.send', { sessionKey: 'other', text: 'third' })
    const texts = async (index: number) => JSON.stringify((await model.request(before + index)).body['messages'])
    expect(await texts(1)).toMatch(/first.*One\..*second/)
    expect(await texts(2)).not.toMatch(/first|second/)
  })

  it('sends deltas only to the caller', async () => {
    const { url, model } = talking()
    model.script({ text: 'For you.' })
    const [asker, other] = [await login(url), await login(url)]
    await asker.call('chat.send', { text: 'Hello' })
    await other.call('subscribe', { topics: [] })
    expect(other.notifications).toEqual([])
  })

  it('returns the error when there is no reply', async () => {
    const { url, model } = talking()
    model.script({ status: 400, body: { error: { message: 'no' } } })
    const client = await login(url)
    expect((await client.call('chat.send', { text: 'Hello' })).result).toMatchObject({
      status: 'failed',
      error: { type: 'model_failed' },
    })
  })

  it('can be cancelled over the same connection', async () => {
    const { url, model } = talking()
    const before = model.requests.length
    model.script({ hang: true, text: 'I was about to' })
    const client = await login(url)
    const answer = client.call('chat.send', { text: 'Hello' })
    const { params } = await client.until(({ method }) => method === 'chat.delta')
    await model.request(before)
    expect((await client.call('runs.cancel', { id: params.runId })).result).toEqual({ ok: true, runId: params.runId })
    expect((await answer).result).toMatchObject({ runId: params.runId, status: 'cancelled' })
    expect((await client.call('runs.cancel', { id: params.runId })).error.data.type).toBe('conflict')
  })

  it('continues when the client has disconnected', async () => {
    const { url, model, get } = talking()
    model.script({ text: 'Nobody hears me.' })
    const client = await login(url)
    void client.call('chat.send', { text: 'Hello' })
    const { params } = await client.until(({ method }) => method === 'chat.delta')
    client.socket.terminate()
    await expect
      .poll(async () => (await get(`/runs/${params.runId}`)).body.status, { timeout: 10_000 })
      .toBe('succeeded')
  })

  it('is refused when too many runs are queued', async () => {
    const { url, model } = talking()
    const before = model.requests.length
    model.script({ hang: true })
    const client = await login(url)
    const ids = async () =>
      client.notifications.filter(({ method }) => method === 'chat.delta').map(({ params }) => params.runId)
    void client.call('chat.send', { text: 'one' })
    await model.request(before)
    void client.call('chat.send', { text: 'two' })
    await expect.poll(async () => new Set(await ids()).size).toBe(2)
    const { error } = await client.call('chat.send', { text: 'three' })
    expect([error.code, error.data]).toEqual([-32_000, { type: 'overloaded', retryAfter: 5 }])
    // The queued run comes first, so that it does not start.
    for (const id of [...new Set(await ids())].toReversed()) await client.call('runs.cancel', { id })
  })

  it('refuses an invalid session key', async () => {
    const { url } = shared()
    const client = await login(url)
    expect((await client.call('chat.send', { sessionKey: 'agent:', text: 'Hello' })).error).toMatchObject({
      code: -32_602,
      data: { type: 'invalid_request' },
    })
  })
})

describe('tools.invoke', () => {
  it.each<[string, number, Document]>([
    ['a tool', 200, { tool: ' sessions_list ', args: { limit: 1 } }],
    ['a tool in a session', 404, { tool: 'sessions_spawn', sessionKey: 'desk', args: { task: 'x' } }],
    ['an unknown tool', 404, { tool: 'nothing' }],
    ['a tool that is denied', 404, { tool: 'session_status' }],
    ['arguments that do not fit', 400, { tool: 'sessions_list', args: { limit: 'x' } }],
    ['a session key that means nothing', 400, { tool: 'sessions_list', sessionKey: 'agent:' }],
  ])('returns for %s what POST /tools/invoke returns', async (_what, status, body) => {
    const { url, post } = shared()
    const client = await login(url)
    const overHttp = await post('/tools/invoke', body, { authorization: `Bearer ${gatewayToken}` })
    expect(overHttp.status).toBe(status)
    const { result, error } = await client.call('tools.invoke', body)
    if (status === 200) expect(result).toEqual(overHttp.body)
    else expect({ type: error.data.type, message: error.message }).toEqual(overHttp.body.error)
  })

  it('evaluates the policy for the given channel and account, like the HTTP headers', async () => {
    const { url, post } = shared()
    const client = await login(url)
    const statuses = async (tool: string, channel: string, accountId: string) => {
      const call = { tool, sessionKey: 'console:group:g' }
      const headers = {
        authorization: `Bearer ${gatewayToken}`,
        'x-svc-message-channel': channel,
        'x-svc-account-id': accountId,
      }
      return [
        (await post('/tools/invoke', call, headers)).status,
        (await client.call('tools.invoke', { ...call, channel, accountId })).error?.data.type,
      ]
    }
    expect(await statuses('sessions_list', 'console', 'ops')).toEqual([404, 'tool_not_available'])
    expect(await statuses('sessions_list', ' console ', ' ')).toEqual([200, undefined])
    expect(await statuses('agents_list', 'console', '')).toEqual([404, 'tool_not_available'])
    expect(await statuses('agents_list', 'elsewhere', '')).toEqual([200, undefined])
    expect((await client.call('tools.invoke', { tool: 'agents_list', channel: 5 })).error.message).toBe(
      'channel must be a string.',
    )
  })
})

it('a reload closes the connection, and says why', async () => {
  const { url, gateway } = await startWithModel()
  const client = await login(url)
  await gateway.reload()
  expect(await client.closed).toEqual({ code: 1001, reason: 'The configuration was reloaded; connect again.' })
})

describe('the stop of the gateway', () => {
  it('waits for a chat, closes with 1001, and accepts no new connections', async () => {
    const { url, model, gateway } = await startWithModel()
    model.script({ text: 'Just in time.' })
    const client = await login(url)
    const answer = client.call('chat.send', { text: 'Hello' })
    await model.request(0)
    const stopped = gateway.close()
    expect((await answer).result.reply).toBe('Just in time.')
    expect(await client.closed).toEqual({ code: 1001, reason: 'The gateway is stopping.' })
    await stopped
  })

  it('does not wait for a client that does not respond', async () => {
    const { url, gateway, model } = await startWithModel({
      gateway: { port: 0, auth: { token: gatewayToken }, drainSeconds: 0.2 },
    })
    model.script({ hang: true })
    const [silent, chatting] = [await login(url), await login(url)]
    silent.socket.pause()
    const answer = chatting.call('chat.send', { text: 'Hello' })
    await model.request(0)
    await gateway.close()
    expect((await answer).result.status).toMatch(/queued|running/)
  })
})
