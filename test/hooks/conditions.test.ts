// The conditions of mappings: `match.headers`, `match.payload` and `skip`.
import { describe, expect, it } from 'vitest'
import { problemsOf, warningsOf } from '../config/document.ts'
import { gatewayToken, hookToken, type RunningGateway, shareGateway, startGateway } from '../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const wake = { action: 'wake', wakeMode: 'next-heartbeat', textTemplate: 'x' }
const operator = { authorization: `Bearer ${gatewayToken}` }

/** The id of the mapping that handled a request; each mapping writes its id into its event. */
const by = (id: string, match: object) => ({ id, match, ...wake, textTemplate: id, sessionKey: `hook:${id}` })

async function handledBy(
  { post, get }: Pick<RunningGateway, 'post' | 'get'>,
  path: string,
  [payload, headers]: [unknown, Record<string, string>?],
) {
  const { status, body } = await post(`/hooks/${path}`, payload, headers)
  if (status !== 200) return body.error.type
  const [{ id }] = (await get('/api/requests?limit=1')).body.items
  return (await get(`/api/requests/${id}`)).body.actions[0].eventId === body.eventId
    ? await textOf(get, body.eventId)
    : 'another request'
}

/** Finds the event among the sessions of the mappings. */
async function textOf(get: RunningGateway['get'], eventId: string): Promise<string> {
  const { items } = (await get('/api/sessions?limit=200')).body
  for (const { key } of items) {
    const { events } = (await get(`/api/sessions/${encodeURIComponent(key)}`)).body
    const found = events.find(({ id }: { id: string }) => id === eventId)
    if (found) return found.text
  }
  return 'no event'
}

describe('match.headers and match.payload', () => {
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        by('opened', { path: 'ci', payload: { action: 'opened', 'issue.state': { in: ['new', 'open'] } } }),
        by('push', { path: 'ci', headers: { 'X-Event': 'push' } }),
        by('tag', { path: 'ci', headers: { 'x-event': { startsWith: 'tag:', endsWith: ':v1' } } }),
        by('number', { path: 'ci', payload: { 'build.number': 5 } }),
        by('flag', { path: 'ci', payload: { flag: false } }),
        by('null', { path: 'ci', payload: { gone: null } }),
        by('present', { path: 'ci', payload: { error: { exists: true } } }),
        by('element', { path: 'ci', payload: { 'items[1].id': { equals: 'b' } } }),
        by('quoted', { path: 'ci', payload: { '["a.b"]': { startsWith: 'x' } } }),
        by('absent', { path: 'ci', payload: { kind: { exists: false }, quiet: { exists: true } } }),
        by('drone', { path: 'ci', source: 'drone', payload: { ok: true } }),
        by('rest', { path: 'ci', source: 'drone' }),
        by('list', { path: 'list', payload: { '[0].type': 'a' } }),
        by('anywhere', { payload: { marker: 'here' } }),
      ],
    },
  })

  it.each<[string, unknown, Record<string, string>?]>([
    ['opened', { action: 'opened', issue: { state: 'open' } }],
    ['not_found', { action: 'opened', issue: { state: 'closed' } }],
    ['not_found', { action: 'Opened', issue: { state: 'open' } }],
    ['push', {}, { 'x-event': 'push' }],
    ['not_found', {}, { 'x-event': 'PUSH' }],
    ['tag', {}, { 'x-event': 'tag:a:v1' }],
    ['not_found', {}, { 'x-event': 'tag:a:v2' }],
    ['number', { build: { number: 5 } }],
    ['not_found', { build: { number: '5' } }],
    ['flag', { flag: false }],
    ['not_found', { flag: 0 }],
    ['null', { gone: null }],
    ['present', { error: null }],
    ['present', { error: {} }],
    ['element', { items: [{ id: 'a' }, { id: 'b' }] }],
    ['not_found', { items: { 1: { id: ['b'] } } }],
    ['quoted', { 'a.b': 'xy' }],
    ['absent', { quiet: 1 }],
    ['not_found', { quiet: 1, kind: null }],
    ['drone', { source: 'drone', ok: true }],
    ['rest', { source: 'drone', ok: false }],
    ['anywhere', { marker: 'here' }],
    ['not_found', { constructor: { name: 'Object' } }],
  ])('choose %s for %j with %j', async (expected, payload, headers) => {
    expect(await handledBy(gateway, 'ci', [payload, headers])).toBe(expected)
  })

  it('read a list, and any name of a hook', async () => {
    expect(await handledBy(gateway, 'list', [[{ type: 'a' }]])).toBe('list')
    expect(await handledBy(gateway, 'list', [[{ type: 'b' }]])).toBe('not_found')
    expect(await handledBy(gateway, 'somewhere/else', [{ marker: 'here' }])).toBe('anywhere')
  })

  it('read no inherited property', async () => {
    const { post } = await startGateway({
      agents,
      hooks: { mappings: [by('a', { path: 'a', payload: { 'constructor.name': { exists: true } } })] },
    })
    expect((await post('/hooks/a', {})).status).toBe(404)
    expect((await post('/hooks/a', '{"__proto__":{"constructor":{"name":"x"}}}')).status).toBe(404)
    expect((await post('/hooks/a', { constructor: { name: 'x' } })).status).toBe(200)
  })

  it('are tried only in the mappings of the name and the source', async () => {
    const mappings = Array.from({ length: 1000 }, (_, index) => ({
      ...by(`m${index}`, { path: `hook-${index}`, source: `s${index % 2}`, payload: { id: index } }),
    }))
    const { post } = await startGateway({ agents, hooks: { mappings } })
    expect((await post('/hooks/hook-999', { source: 's1', id: 999 })).status).toBe(200)
    expect((await post('/hooks/hook-999', { source: 's1', id: 998 })).status).toBe(404)
    expect((await post('/hooks/hook-998', { source: 's1', id: 998 })).status).toBe(404)
  })
})

describe('skip', () => {
  const noise = { headers: { 'x-event': 'ping' } }
  const bots = { payload: { 'sender.type': 'Bot', action: { in: ['edited', 'deleted'] } } }
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        { id: 'many', match: { path: 'many' }, skip: [noise, bots], ...wake },
        { id: 'one', match: { path: 'one' }, skip: noise, ...wake },
      ],
      presets: ['home-assistant'],
      'home-assistant': { skip: { payload: { area: 'garage' } }, deliver: false, wakeMode: 'next-heartbeat' },
    },
  })
  const { post, get } = gateway
  const noted = async (hook: string) => {
    const list = async () => (await get(`/api/requests?hook=${hook}&status=skipped`)).body.items
    await expect.poll(async () => (await list()).length).toBeGreaterThan(0)
    return (await list())[0]
  }

  it('accepts a request that meets its conditions, starts nothing, and records the reason', async () => {
    expect(await post('/hooks/one', {}, { 'x-event': 'ping' })).toMatchObject({
      status: 200,
      body: { ok: true, skipped: true },
    })
    expect(await noted('one')).toMatchObject({
      status: 'skipped',
      reason: 'skip',
      skippedBy: { mapping: 'one', rule: 0 },
    })
    expect((await post('/hooks/one', {}, { 'x-event': 'push' })).body).toHaveProperty('eventId')
  })

  it('needs all conditions of one entry', async () => {
    expect((await post('/hooks/many', { sender: { type: 'Bot' }, action: 'created' })).body).toHaveProperty('eventId')
    expect((await post('/hooks/many', { sender: { type: 'Bot' }, action: 'edited' })).body.skipped).toBe(true)
    const line = await noted('many')
    expect(line).toMatchObject({ skippedBy: { mapping: 'many', rule: 1 } })
    expect((await get(`/api/requests/${line.id}`)).body).toMatchObject({ skippedBy: { rule: 1 }, actions: [] })
  })

  it('applies to replays and dry runs', async () => {
    await post('/hooks/many', { sender: { type: 'Bot' }, action: 'deleted' })
    const { id } = await noted('many')
    const replay = (body: object) => post(`/api/requests/${id}/replay`, body, operator)
    expect((await replay({ dryRun: true })).body).toMatchObject({
      actions: [],
      skippedBy: { mapping: 'many', rule: 1 },
    })
    expect((await replay({ dryRun: true, body: {} })).body.actions).toHaveLength(1)
    const { requestId } = (await replay({})).body
    await expect
      .poll(async () => (await get(`/api/requests/${requestId}`)).body)
      .toMatchObject({ status: 'skipped', reason: 'skip', skippedBy: { mapping: 'many', rule: 1 }, replayOf: id })
  })

  it('can be added to a preset', async () => {
    const state = { message: 'Door open', entity_id: 'sensor.door' }
    expect((await post('/hooks/home-assistant', { ...state, area: 'garage' })).body.skipped).toBe(true)
    expect((await post('/hooks/home-assistant', state)).body).toHaveProperty('runId')
  })
})

describe('contains, matches and not', () => {
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        by('text', { path: 'more', payload: { title: { contains: 'urgent' } } }),
        by('element', { path: 'more', payload: { labels: { contains: 'bug' } } }),
        by('pattern', { path: 'more', payload: { ref: { matches: 'refs/heads/release/*.?' } } }),
        by('header', { path: 'more', headers: { 'x-event': { not: { in: ['push', 'ping'] }, exists: true } } }),
        by('other', { path: 'more', payload: { kind: { exists: true, not: 'draft' } } }),
      ],
    },
  })

  it.each<[string, unknown, Record<string, string>?]>([
    ['text', { title: 'very urgent!' }],
    ['not_found', { title: 'calm' }],
    ['element', { labels: ['a', 'bug'] }],
    ['not_found', { labels: ['bugs'] }],
    ['pattern', { ref: 'refs/heads/release/1.5' }],
    ['pattern', { ref: 'refs/heads/release/a/b.c.d' }],
    ['not_found', { ref: 'refs/heads/release/15' }],
    ['not_found', { ref: `refs/heads/release/${'x'.repeat(20_000)}.1` }],
    ['header', {}, { 'x-event': 'issue' }],
    ['not_found', {}, { 'x-event': 'push' }],
    ['other', { kind: 'final' }],
    ['not_found', { kind: 'draft' }],
  ])('%s handles %j %j', async (expected, payload, headers) => {
    expect(await handledBy(gateway, 'more', [payload, headers])).toBe(expected)
  })

  it('a pattern takes bounded time', async () => {
    const started = process.cpuUsage()
    const mappings = [by('slow', { path: 'slow', payload: { text: { matches: `${'*a'.repeat(90)}b` } } })]
    const { post } = await startGateway({ agents, hooks: { enabled: true, token: hookToken, mappings } })
    expect((await post('/hooks/slow', { text: 'a'.repeat(10_000) })).status).toBe(404)
    expect(process.cpuUsage(started).user).toBeLessThan(20_000_000)
  })
})

describe('skip of an element', () => {
  const gateway = shareGateway({
    agents,
    hooks: {
      mappings: [
        {
          id: 'photos',
          match: { path: 'photos' },
          forEach: 'items',
          skip: [{ item: { type: { not: 'photo' } } }, { payload: { quiet: true } }],
          ...wake,
          textTemplate: '{{ item.id }}',
        },
      ],
    },
  })
  const post = (payload: object) => gateway.post('/hooks/photos', payload)

  it('leaves out the elements that meet its conditions', async () => {
    const items = [
      { id: 'a', type: 'photo' },
      { id: 'b', type: 'text' },
      { id: 'c', type: 'photo' },
    ]
    expect((await post({ items })).body.eventIds).toHaveLength(2)
    expect((await post({ items: [items[0], items[1]] })).body).toMatchObject({ ok: true, eventId: expect.any(String) })
  })

  it('skips the request if no element is left, and if a condition on the payload holds', async () => {
    expect((await post({ items: [{ id: 'b', type: 'text' }] })).body).toEqual({ ok: true, skipped: true })
    const [{ id }] = (await gateway.get('/api/requests?limit=1')).body.items
    expect((await gateway.get(`/api/requests/${id}`)).body).toMatchObject({ status: 'skipped', reason: 'skip' })
    expect((await post({ items: [{ id: 'a', type: 'photo' }], quiet: true })).body).toEqual({ ok: true, skipped: true })
  })

  it('needs forEach', () => {
    const mapping = "{ match: { path: 'a' }, skip: { item: { type: 'a' } }, messageTemplate: 'x' }"
    expect(problemsOf(`{ hooks: { enabled: true, token: '${hookToken}', mappings: [${mapping}] } }`)).toEqual([
      expect.stringContaining('skip.item needs forEach'),
    ])
  })
})

describe('a session key without its id', () => {
  it('is accepted with a warning', async () => {
    const mapping = { id: 'orders', match: { path: 'orders' }, ...wake, sessionKey: 'hook:orders:{{ id }}' }
    const { post, logged } = await startGateway({
      agents,
      hooks: { enabled: true, token: hookToken, mappings: [mapping] },
    })
    expect((await post('/hooks/orders', { id: 5 })).body.warnings).toBeUndefined()
    expect(logged.join('\n')).not.toContain('session key')
    expect((await post('/hooks/orders', { ID: 5 })).body).toMatchObject({
      ok: true,
      warnings: [
        expect.stringMatching(/^A placeholder of the session key of the mapping "orders" is empty, so that unrelated/),
      ],
    })
    expect(logged.join('\n')).toContain('a placeholder of the session key is empty')
  })
})

describe('the check of conditions', () => {
  const path = { messageTemplate: 'm', deliver: false }
  const problems = (keys: object) => problemsOf(JSON.stringify({ hooks: { mappings: [{ ...path, ...keys }] } }))
  const match = (conditions: object) => problems({ match: { path: 'x', ...conditions } })

  it.each([
    [{ payload: { a: { equal: 1 } } }, 'match.payload.a.equal is not a known key; did you mean "equals"?'],
    [{ payload: { a: {} } }, 'match.payload.a must not be empty'],
    [{ payload: {} }, 'match.payload must not be empty'],
    [{ payload: { a: [1] } }, 'match.payload.a must be a string or a number or true or false or null or an object'],
    [{ payload: { a: { in: [] } } }, 'match.payload.a.in must not be empty'],
    [{ payload: { a: { exists: 'yes' } } }, 'match.payload.a.exists must be true or false'],
    [{ payload: { 'a b': 1 } }, 'match.payload.a b is not a path in the payload'],
    [{ payload: { id: { in: ['a', 2 ** 60] } } }, 'match.payload.id is compared with an integer beyond 2^53'],
    [{ headers: { 'x event': 'a' } }, 'match.headers.x event is not the name of a header'],
    [{ headers: { 'x-count': 5 } }, 'match.headers.x-count is compared with 5, but headers are text; write "5"'],
    [{ headers: { 'x-count': { in: ['5', 6] } } }, 'match.headers.x-count is compared with 6'],
    [{ headers: { Authorization: 'a' } }, 'match.headers.Authorization is a header with a credential'],
    [{ header: { a: 'b' } }, 'match.header is not a known key; did you mean "headers"?'],
  ])('rejects %j', (conditions, problem) => {
    expect(match(conditions)).toEqual([expect.stringContaining(problem)])
  })

  it('reports all problems at once, also of skip', () => {
    const skip = [{ payload: { 'a..b': 1 } }, { payloads: {} }, { headers: { cookie: 'x' }, payload: { 'c d': 1 } }]
    expect(problems({ match: { path: 'x', payload: { 'a b': 1 } }, skip })).toEqual([
      expect.stringContaining('skip[1].payloads is not a known key; did you mean "payload"?'),
      expect.stringContaining('match.payload.a b is not a path'),
      expect.stringContaining('skip[0].payload.a..b is not a path'),
      expect.stringContaining('skip[2].headers.cookie is a header with a credential'),
      expect.stringContaining('skip[2].payload.c d is not a path'),
    ])
    expect(problems({ match: { path: 'x' }, skip: {} })).toEqual([expect.stringContaining('skip must not be empty')])
  })

  it('warns of a mapping whose requests an earlier one takes', () => {
    const warnings = (...matches: object[]) =>
      warningsOf(
        JSON.stringify({
          hooks: { mappings: matches.map((match) => ({ match, messageTemplate: 'm', deliver: false })) },
        }),
      )
    const opened = { path: 'x', payload: { action: 'opened' } }
    expect(warnings(opened, { path: 'x', payload: { action: 'closed' } }, { path: 'x' })).toEqual([])
    expect(warnings({ path: 'x' }, opened)).toEqual([
      expect.stringContaining('hooks.mappings[1] is never reached, because hooks.mappings[0]'),
    ])
    const more = { path: 'x', source: 's', payload: { action: 'opened' }, headers: { a: 'b' } }
    expect(warnings(opened, more)).toEqual([expect.stringContaining('hooks.mappings[1] is never reached')])
    expect(warnings(more, opened)).toEqual([])
    expect(warnings({ headers: { a: 'b' } })).toEqual([])
  })
})
