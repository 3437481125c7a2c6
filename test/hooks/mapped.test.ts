// Mapped hooks: which mapping matches a request, the actions that it starts, and the reply.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, type RunningGateway, shareGateway, startGateway } from '../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } }, main: {}, ops: {} }
/** Runs use the built-in model and wake nobody afterwards. */
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const wait = { prefer: 'wait=30' }

const noted = async ({ get }: Pick<RunningGateway, 'get'>, filter: string) =>
  await expect
    .poll(async () => (await get(`/api/requests?limit=1&${filter}`)).body.items[0])
    .toBeDefined()
    .then(async () => {
      const { id } = (await get(`/api/requests?limit=1&${filter}`)).body.items[0]
      return (await get(`/api/requests/${id}`)).body
    })

describe('the mapping of a request', () => {
  const say = (id: string, match: object) => ({ id, match, ...quiet, messageTemplate: `by ${id}` })
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        say('both', { path: 'ci', source: 'drone' }),
        say('path', { path: '/ci/' }),
        say('never', { path: 'ci' }),
        say('deep', { path: 'ci/nightly' }),
        say('source', { source: 'forge' }),
        say('own', { path: 'agent' }),
      ],
    },
  })
  const by = async (path: string, payload: unknown) => {
    const { body } = await gateway.post(`/hooks/${path}`, payload, wait)
    return body.runId ? (await gateway.get(`/runs/${body.runId}`)).body.reply : body.error.type
  }

  it.each([
    ['ci', {}, 'by path'],
    ['ci/', {}, 'by path'],
    ['ci//nightly', {}, 'not_found'],
    ['ci', { source: 'drone' }, 'by both'],
    ['ci', { source: 'forge' }, 'by path'],
    ['ci', { source: ['drone'] }, 'by path'],
    ['ci/nightly', {}, 'by deep'],
    ['anything/at/all', { source: 'forge' }, 'by source'],
    ['anything', { source: 'else' }, 'not_found'],
    ['CI', {}, 'not_found'],
    ['wake/', { source: 'forge' }, 'not_found'],
    ['/agent', { source: 'forge' }, 'not_found'],
    ['agent', { message: 'the endpoint itself', ...quiet }, 'the endpoint itself'],
  ])('at %s with %j is %s', async (path, payload, expected) => {
    expect(await by(path, payload)).toContain(expected)
  })

  it('is found as fast among a thousand mappings', async () => {
    const mappings = Array.from({ length: 1000 }, (_, index) =>
      say(`m${index}`, { path: `hook-${index}`, source: 'x' }),
    )
    const { post } = await startGateway({ agents, hooks: { mappings } })
    expect((await post('/hooks/hook-999', { source: 'x' })).status).toBe(200)
    expect((await post('/hooks/hook-999', { source: 'y' })).status).toBe(404)
  })
})

describe('POST {hooks.path}/<name>', () => {
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        {
          id: 'mail',
          match: { path: 'mail' },
          ...quiet,
          name: 'Mail of {{ from }}',
          agentId: 'ops',
          sessionKey: 'hook:mail:{{ thread }}',
          messageTemplate: '{{ from }} wrote: {{ payload.text }} ({{ headers.x-box }}, {{ query.q }}, {{ path }})',
          to: '{{ reply_to }}',
          timeoutSeconds: 5,
        },
        {
          match: { path: 'order' },
          ...quiet,
          messageTemplate: [
            'Order {{ id }}',
            'To: {{ to.name || to.email || "a guest" }}',
            'Due: {{ due | date }}',
            'Note: {{ note }}',
            'Tags: {{ tags | join }}',
          ].join('\n'),
        },
        { match: { path: 'news' }, action: 'wake', wakeMode: 'next-heartbeat', textTemplate: 'News: {{ title }}' },
        {
          match: { path: 'items' },
          ...quiet,
          forEach: 'payload.items',
          messageTemplate: '{{ index }}: {{ item.name }} of {{ shop }}',
        },
        {
          match: { path: 'lines' },
          action: 'wake',
          wakeMode: 'next-heartbeat',
          forEach: 'payload',
          textTemplate: '{{ item }}',
        },
        {
          id: 'copies',
          match: { path: 'copies' },
          action: 'wake',
          wakeMode: 'next-heartbeat',
          forEach: 'items',
          textTemplate: '{{ payload | json }}',
        },
        { match: { path: 'list' }, ...quiet, messageTemplate: '{{ payload[1] }}' },
        { match: { path: 'free' }, ...quiet, sessionKey: '{{ key }}', messageTemplate: 'x' },
        { match: { path: 'trusted' }, ...quiet, allowUnsafeExternalContent: true, messageTemplate: 'x' },
        { match: { path: 'model' }, ...quiet, model: '{{ model }}', thinking: '{{ thinking }}', messageTemplate: 'x' },
        { match: { path: 'slack' }, channel: 'slack', wakeMode: 'next-heartbeat', messageTemplate: 'x' },
        { match: { path: 'nobody' }, agentId: 'nobody', ...quiet, messageTemplate: 'x' },
        { match: { path: 'once' }, ...quiet, idempotencyKey: '{{ id }}', messageTemplate: 'x' },
        { match: { path: 'busy' }, ...quiet, rateLimit: { maxPerMinute: 2 }, messageTemplate: 'x' },
      ],
    },
  })
  const { post, get } = gateway
  const runOf = async (runId: string) => (await get(`/runs/${runId}`)).body

  it('answers 404 for a hook that does not exist, whatever is wrong with the body', async () => {
    const bodies: [body: string, headers?: Record<string, string>][] = [
      [''],
      ['x'.repeat(300_000)],
      ['{}', { 'content-encoding': 'gzip' }],
    ]
    const { post } = await startGateway()
    for (const [body, headers] of bodies) expect((await post('/hooks/nowhere', body, headers)).status).toBe(404)
  })

  it('renders the templates into a run, wrapped as external content', async () => {
    const payload = { from: 'Ada', text: 'Hello {{ from }}', thread: 'T7', reply_to: ' ' }
    const { status, body } = await post('/hooks/mail?q=1', payload, { 'x-box': 'in', ...wait })
    expect(status).toBe(200)
    expect(body).toMatchObject({ ok: true, status: 'succeeded', sessionKey: 'agent:ops:hook:mail:t7' })
    expect(body.reply).toContain('Ada wrote: Hello {{ from }} (in, 1, mail)')
    const run = await runOf(body.runId)
    expect(run).toMatchObject({
      agentId: 'ops',
      name: 'Mail of Ada',
      origin: { kind: 'hook', name: 'mail', trusted: false, auth: 'token' },
    })
  })

  it('renders fallbacks and filters, and drops lines without a value', async () => {
    const { body } = await post('/hooks/order', { id: 7, to: {}, due: 1_700_000_000, tags: ['a', '{{ id }}'] }, wait)
    expect(body.reply).toContain('Order 7 To: a guest Due: 2023-11-14 22:13:20 UTC Tags: a, {{ id }}')
  })

  it('replies to a wake as POST /hooks/wake does', async () => {
    const { body } = await post('/hooks/news', { title: 'Rain' })
    expect(body).toEqual({ ok: true, mode: 'next-heartbeat', eventId: expect.any(String) })
    const { events } = (await get('/api/sessions/agent%3Amain%3Amain')).body
    expect(events).toContainEqual(expect.objectContaining({ text: 'News: Rain', mode: 'next-heartbeat' }))
  })

  it('starts a run for each element of forEach, all or none', async () => {
    const items = [{ name: 'tea' }, { name: 'milk' }]
    const { body } = await post('/hooks/items', { items, shop: 'corner' }, wait)
    expect(body).toMatchObject({
      ok: true,
      runIds: [expect.any(String), expect.any(String)],
      runs: [{ status: 'succeeded' }, { status: 'succeeded' }],
    })
    expect(body.runs.map(({ reply }: { reply: string }) => reply).join()).toMatch(
      /0: tea of corner[^]*1: milk of corner/,
    )
    expect((await post('/hooks/lines', ['one', 'two'])).body).toEqual({
      ok: true,
      eventIds: [expect.any(String), expect.any(String)],
    })
    expect((await post('/hooks/lines', ['one', ' '])).status).toBe(400)
    expect((await get('/api/requests?limit=1')).body.items[0]).toMatchObject({ hook: 'lines' })
  })

  it('limits the elements of forEach, and skips an empty list', async () => {
    expect(await post('/hooks/items', { items: Array.from({ length: 201 }, () => ({})) })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('200') } },
    })
    expect((await post('/hooks/items', {})).body.error.message).toContain('payload.items must be a list')
    expect((await post('/hooks/lines', [])).body).toEqual({ ok: true, skipped: true })
    expect(await noted(gateway, 'hook=lines&status=skipped')).toMatchObject({ status: 'skipped', body: '[]' })
  })

  it('returns 400 when the actions of one request have more than 4 MiB of text together', async () => {
    const text = 'é'.repeat(10_000)
    const send = (number: number) => post('/hooks/copies', { items: Array.from({ length: number }, () => 0), text })
    expect((await send(200)).body.eventIds).toHaveLength(200)
    const before = (await get('/api/sessions/agent%3Amain%3Amain')).body.events.length
    const large = await post('/hooks/copies', { items: Array.from({ length: 200 }, () => 0), text: text.repeat(2) })
    expect(large).toMatchObject({
      status: 400,
      body: {
        error: {
          type: 'invalid_request',
          message:
            'The mapping "copies" makes more than 4 MiB of text of this request; send less, or let it use less of ' +
            'the payload for each action.',
        },
      },
    })
    expect((await get('/api/sessions/agent%3Amain%3Amain')).body.events).toHaveLength(before)
  })

  it('accepts objects, lists and forms only', async () => {
    expect((await post('/hooks/list', ['a', 'b'], wait)).body.reply).toContain('b')
    const form = await post('/hooks/mail', 'from=Ada+L&text=hi&thread=1', {
      'content-type': 'application/x-www-form-urlencoded',
      ...wait,
    })
    expect(form.body.reply).toContain('Ada L wrote: hi')
    for (const body of ['7', 'null', '"x"', '{']) expect((await post('/hooks/list', body)).status).toBe(400)
  })

  it('returns 400 for an action that its endpoint would reject, and names the field', async () => {
    expect((await post('/hooks/list', [])).body.error.message).toBe(
      'The hook makes no valid action of this payload: message is required.',
    )
    expect((await post('/hooks/news', {})).status).toBe(200)
    expect((await post('/hooks/model', { thinking: 'ultra' })).body.error.message).toContain('thinking must be one of')
    expect((await post('/hooks/model', { model: 'nobody/x' })).body.error.message).toContain('model names a provider')
    expect((await post('/hooks/model', {})).status).toBe(200)
  })

  it('rejects a session key from the payload outside the namespace of the hooks', async () => {
    expect((await post('/hooks/free', { key: 'main' })).body.error.message).toContain('sessionKey is not accepted')
    expect((await post('/hooks/free', {})).status).toBe(200)
  })

  it('omits the external content wrapper only where the mapping says so', async () => {
    const { body } = await post('/hooks/trusted', {})
    expect((await runOf(body.runId)).origin).toMatchObject({ trusted: true })
    const forged = await post('/hooks/list', ['', 'x', { allowUnsafeExternalContent: true }])
    expect((await runOf(forged.body.runId)).origin).toMatchObject({ trusted: false })
  })

  it('warns about a channel that is not configured and about an unknown agent', async () => {
    expect((await post('/hooks/slack', {})).body.warnings).toEqual([expect.stringContaining('slack')])
    expect((await post('/hooks/nobody', {})).body.warnings).toEqual([
      'agentId names no configured agent; the default agent is used.',
    ])
  })

  it('accepts a request with a known id once; the header takes precedence over the template', async () => {
    const first = await post('/hooks/once', { id: 7 })
    const again = await post('/hooks/once', { id: 7 })
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await post('/hooks/once', { id: 7, more: true })).body).toEqual(first.body)
    expect((await post('/hooks/once', { id: 7 }, { 'idempotency-key': 'other' })).body.runId).not.toBe(first.body.runId)
    expect((await post('/hooks/once', {})).body.runId).not.toBe((await post('/hooks/once', {})).body.runId)
    expect((await post('/hooks/once', { id: 'x'.repeat(257) })).status).toBe(400)
  })

  it('returns 429 when the rate limit is exceeded', async () => {
    for (let count = 0; count < 2; count++) expect((await post('/hooks/busy', {})).status).toBe(200)
    const answer = await post('/hooks/busy', {})
    expect(answer).toMatchObject({ status: 429, body: { error: { type: 'too_many_requests' } } })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })

  it('is described in the OpenAPI document', async () => {
    const { paths } = (await get('/openapi.json')).body
    expect(paths['/hooks/mail'].post).toMatchObject({ tags: ['hooks'], security: [{ hook: [] }, { hookHeader: [] }] })
  })
})

describe('the rules for agents and session keys', () => {
  it('apply to mappings as they do to payloads', async () => {
    const { post } = await startGateway({
      agents,
      hooks: {
        allowedAgentIds: ['main'],
        allowedSessionKeyPrefixes: ['hook:'],
        mappings: [
          { match: { path: 'ops' }, ...quiet, agentId: 'ops', messageTemplate: 'x' },
          { match: { path: 'plain' }, ...quiet, sessionKey: 'team', messageTemplate: 'x' },
          { match: { path: 'fine' }, ...quiet, sessionKey: 'hook:team', messageTemplate: 'x' },
        ],
      },
    })
    expect((await post('/hooks/ops', {})).body.error.message).toContain('allowedAgentIds')
    expect((await post('/hooks/plain', {})).body.error.message).toContain('allowedSessionKeyPrefixes')
    expect((await post('/hooks/fine', {})).body.sessionKey).toBe('agent:main:hook:team')
  })
})

describe('concurrency', () => {
  it('limits how many runs of a mapping are in progress at once', async () => {
    const model = await startModel()
    for (let count = 0; count < 3; count++) model.script({ hang: true })
    const mapping = { match: { path: 'slow' }, ...quiet, model: 'double/m', concurrency: 1, messageTemplate: 'x' }
    const { post, get } = await startGateway({ agents, providers: model.providers, hooks: { mappings: [mapping] } })
    const first = (await post('/hooks/slow', {})).body.runId
    const second = (await post('/hooks/slow', {})).body.runId
    await model.request(0)
    const other = (await post('/hooks/agent', { message: 'x', ...quiet, model: 'double/m' })).body.runId
    await model.request(1)
    const status = async (id: string) => (await get(`/runs/${id}`)).body.status
    expect([await status(first), await status(second), await status(other)]).toEqual(['running', 'queued', 'running'])
    await post(`/api/runs/${first}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    await model.request(2)
    expect(await status(second)).toBe('running')
    for (const id of [second, other])
      await post(`/api/runs/${id}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
  })
})
