// The tool routes over real sockets: every response, none of which reveals anything about a tool's failure.
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defineTool, InputError, type Tool, Type } from '../../core/plugin/plugin.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { type ToolRoutes, openToolRoutes, plain, plainTools } from './tool-routes.ts'

/** Must never appear outside the tool. */
const canary = 'canary-4711-secret'

const echo = defineTool<Record<string, unknown>>({
  name: 'echo',
  group: 'games',
  description: 'Says what it was called with.',
  args: Type.Object(
    { text: Type.Optional(Type.String()), n: Type.Optional(Type.Integer()) },
    { additionalProperties: false },
  ),
  execute: (args, { agentId, sessionKey, caller, channel, accountId, runId }) => ({
    args,
    agentId,
    sessionKey,
    caller,
    channel,
    accountId,
    runId,
  }),
})

const steer = defineTool<Record<string, unknown>>({
  name: 'steer',
  description: 'Takes an action.',
  args: Type.Object({ action: Type.Enum(['left', 'right']), by: Type.Optional(Type.Integer()) }),
  execute: (args) => args,
})

/** Has `action` only in the alternatives of its schema. */
const turnOrGo = defineTool<Record<string, unknown>>({
  name: 'turn_or_go',
  description: 'Takes one of two shapes.',
  args: {
    type: 'object',
    anyOf: [{ properties: { action: { const: 'turn' } }, required: ['action'] }, { required: ['go'] }],
  },
  execute: (args) => args,
})

const cycle: Record<string, unknown> = { canary }
cycle['self'] = cycle

const misdeeds: Record<string, () => unknown> = {
  throws: () => {
    throw new Error(canary)
  },
  throws_what_looks_like_a_place: () => {
    throw new Error(`x\n    at ${canary}\n    at ${canary}`)
  },
  throws_another_message: () => {
    throw Object.assign(new Error(`x\n    at ${canary}`), { message: 'short' })
  },
  rejects_with_a_text: () => Promise.reject(canary),
  rejects: () => Promise.reject(new TypeError(canary)),
  returns_cycle: () => cycle,
  returns_50_mb: () => canary.repeat((50 * 1024 * 1024) / canary.length),
  returns_function: () => () => canary,
}

const unruly: Tool[] = [
  ...Object.entries(misdeeds).map(([name, execute]) => plain(name, { execute })),
  plain('hangs', { execute: () => new Promise(() => {}) }),
  plain('blames', { execute: () => Promise.reject(new InputError('args.city is not a city.')) }),
  plain('nothing', { execute: () => undefined }),
]

const invoke = (routeGroup: ToolRoutes, body: object | string, headers?: Record<string, string>) =>
  routeGroup.post('/tools/invoke', body, headers)
const failure = (type: string, message: unknown) => ({ ok: false, error: { type, message } })

describe('POST /tools/invoke', () => {
  it('runs a tool and returns its result', async () => {
    const routeGroup = await openToolRoutes({ test: [echo, ...unruly] })
    const { status, headers, body } = await invoke(routeGroup, { tool: ' echo ', args: { text: 'hi' }, dryRun: true })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body).toEqual({
      ok: true,
      result: { args: { text: 'hi' }, agentId: 'main', sessionKey: 'agent:main:main', caller: 'http' },
    })
    expect((await invoke(routeGroup, { tool: 'echo' })).body.result.args).toEqual({})
    expect((await invoke(routeGroup, { tool: 'nothing', dryRun: 'whatever', more: 1 })).body).toEqual({
      ok: true,
      result: null,
    })
  })

  it.each([
    [{}, 'agent:main:work', 'main'],
    [{ sessionKey: 'main' }, 'agent:main:work', 'main'],
    [{ sessionKey: 'hook:CI' }, 'agent:main:hook:ci', 'main'],
    [{ sessionKey: 'agent:support:x' }, 'agent:support:x', 'support'],
    [{ sessionKey: 'agent:nobody:x' }, 'agent:nobody:x', 'main'],
  ])('with %j uses the session %s of %s', async (fields, sessionKey, agentId) => {
    const routeGroup = await openToolRoutes(
      { test: [echo] },
      { session: { mainKey: 'work' }, agents: { main: {}, support: {} } },
    )
    expect((await invoke(routeGroup, { tool: 'echo', ...fields })).body.result).toMatchObject({ sessionKey, agentId })
  })

  it('uses the global session in global scope', async () => {
    const routeGroup = await openToolRoutes({ test: [echo] }, { session: { scope: 'global' } })
    for (const sessionKey of [undefined, 'main', 'global'])
      expect((await invoke(routeGroup, { tool: 'echo', sessionKey })).body.result.sessionKey).toBe('global')
  })

  it('passes the channel and the account of the headers to the tool', async () => {
    const routeGroup = await openToolRoutes({ test: [echo] })
    const named = await invoke(
      routeGroup,
      { tool: 'echo' },
      { 'x-svc-message-channel': ' slack ', 'x-svc-account-id': 'work' },
    )
    expect(named.body.result).toMatchObject({ channel: 'slack', accountId: 'work' })
    const blank = await invoke(routeGroup, { tool: 'echo' }, { 'x-svc-message-channel': '', 'x-svc-account-id': ' ' })
    expect(Object.keys(blank.body.result)).not.toContain('channel')
  })

  it.each(['x-svc-message-channel', 'x-svc-account-id'])('are refused when they are repeated: %s', async (name) => {
    const { url } = await openToolRoutes({ test: [echo] })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const lines = ['POST /tools/invoke HTTP/1.1', 'Host: a', `Authorization: Bearer ${gatewayToken}`, `${name}: slack`]
    socket.write(
      [...lines, `${name}: telegram`, 'Connection: close', 'Content-Length: 15', '', '{"tool":"echo"}'].join('\r\n'),
    )
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"malformed_header"/)
  })

  it('adds action to the arguments if the tool has such an argument and it is not set', async () => {
    const routeGroup = await openToolRoutes({ test: [echo, steer, turnOrGo] })
    const result = async (body: object) => (await invoke(routeGroup, body)).body.result
    expect(await result({ tool: 'steer', action: 'left' })).toEqual({ action: 'left' })
    expect(await result({ tool: 'steer', action: 'left', args: { by: 2 } })).toEqual({ by: 2, action: 'left' })
    expect(await result({ tool: 'steer', action: 'left', args: { action: 'right' } })).toEqual({ action: 'right' })
    expect(await result({ tool: 'turn_or_go', action: 'turn' })).toEqual({ action: 'turn' })
    expect((await result({ tool: 'echo', action: 'left' })).args).toEqual({})
    const wrong = await invoke(routeGroup, { tool: 'steer', action: 'up' })
    expect([wrong.status, wrong.body]).toEqual([
      400,
      failure('invalid_arguments', 'args.action must be one of "left", "right".'),
    ])
  })

  it.each<[what: string, body: object | string, type: string, message: unknown]>([
    ['no tool', {}, 'invalid_request', 'tool is required.'],
    ['a blank tool', { tool: ' ' }, 'invalid_request', 'tool must not be blank.'],
    ['a tool of another type', { tool: 5 }, 'invalid_request', 'tool must be a string.'],
    ['a list of args', { tool: 'echo', args: [] }, 'invalid_request', 'args must be an object.'],
    ['null for args', { tool: 'echo', args: null }, 'invalid_request', 'args must be an object.'],
    ['a text for args', { tool: 'echo', args: '{}' }, 'invalid_request', 'args must be an object.'],
    ['a blank session', { tool: 'echo', sessionKey: '' }, 'invalid_request', 'sessionKey must not be blank.'],
    [
      'half a session',
      { tool: 'echo', sessionKey: 'agent:main:' },
      'invalid_request',
      expect.stringContaining('sessionKey'),
    ],
    ['a number for action', { tool: 'echo', action: 1 }, 'invalid_request', 'action must be a string.'],
    [
      'arguments that do not fit',
      { tool: 'echo', args: { n: '5' } },
      'invalid_arguments',
      'args.n must be a whole number.',
    ],
    [
      'an unknown argument',
      { tool: 'echo', args: { colour: 'red' } },
      'invalid_arguments',
      'args.colour is not a known key.',
    ],
    ['input that the tool refuses', { tool: 'blames' }, 'invalid_arguments', 'args.city is not a city.'],
    ['a list', [], 'invalid_request', 'The body must be a JSON object.'],
    ['no JSON', '{', 'invalid_json', expect.any(String)],
  ])('returns 400 for %s', async (...[, body, type, message]) => {
    const routeGroup = await openToolRoutes({ test: [echo, ...unruly] })
    const answer = await invoke(routeGroup, body)
    expect([answer.status, answer.body]).toEqual([400, failure(type, message)])
  })

  it('returns the same 404 for an unknown tool and for one that is not allowed', async () => {
    const routeGroup = await openToolRoutes(
      { test: [echo, ...plainTools('gateway', 'sessions_spawn')] },
      { tools: { deny: ['echo'] } },
    )
    const text = async (tool: string, args?: unknown) => {
      const headers = { authorization: `Bearer ${gatewayToken}` }
      const response = await fetch(`${routeGroup.url}/tools/invoke`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ tool, args }),
      })
      const stable = [...response.headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
      return JSON.stringify([response.status, stable, await response.text()])
    }
    const unknown = await text('nothing')
    expect(unknown).toContain('tool_not_available')
    for (const tool of ['echo', 'gateway', 'sessions_spawn', 'ECHO', 'constructor', '__proto__', '*', 'group:plugins'])
      expect(await text(tool)).toBe(unknown)
    expect(await text('echo', { n: 'does not fit' })).toBe(unknown)
  })

  it.each(Object.keys(misdeeds))('returns 500 without details for a tool that %s', async (tool) => {
    const routeGroup = await openToolRoutes({ test: [echo, ...unruly] })
    const [broken, sound] = await Promise.all([invoke(routeGroup, { tool }), invoke(routeGroup, { tool: 'echo' })])
    expect([broken.status, broken.body, sound.status]).toEqual([
      500,
      failure('tool_failed', "The tool failed. See the gateway's log."),
      200,
    ])
    expect(JSON.stringify([broken.body, [...broken.headers], routeGroup.logged])).not.toContain('canary')
    expect(routeGroup.logged).toMatchObject([
      { level: 'error', fields: { tool, toolset: 'test' } },
      { level: 'error', fields: { status: 500, type: 'tool_failed', reqId: broken.headers.get('x-request-id') } },
    ])
  })

  it('returns 504 for a tool that hangs, and serves others meanwhile', async () => {
    const routeGroup = await openToolRoutes({ test: [echo, ...unruly] }, { timeoutMs: 50 })
    const hanging = Array.from({ length: 20 }, () => invoke(routeGroup, { tool: 'hangs' }))
    expect((await invoke(routeGroup, { tool: 'echo' })).status).toBe(200)
    for (const { status, body } of await Promise.all(hanging)) {
      expect([status, body]).toEqual([504, failure('tool_timeout', 'The tool did not answer within its time limit.')])
    }
  })

  it('accepts a body of 2 MiB and not one byte more', async () => {
    const routeGroup = await openToolRoutes({ test: [echo] })
    const frame = JSON.stringify({ tool: 'echo', args: { text: '' } })
    const body = (bytes: number) => JSON.stringify({ tool: 'echo', args: { text: 'x'.repeat(bytes - frame.length) } })
    expect((await invoke(routeGroup, body(2 * 1024 * 1024))).status).toBe(200)
    const over = await invoke(routeGroup, body(2 * 1024 * 1024 + 1))
    expect([over.status, over.body.error.type]).toEqual([413, 'payload_too_large'])
    expect((await invoke(routeGroup, '{}', { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'])(
    'answers 405 to %s, before it asks who calls',
    async (method) => {
      const routeGroup = await openToolRoutes({ test: [echo] })
      for (const path of ['/tools/invoke', '/tools/explain']) {
        const response = await fetch(`${routeGroup.url}${path}`, { method })
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
        await response.arrayBuffer()
      }
    },
  )

  it('applies the policy of the session', async () => {
    const routeGroup = await openToolRoutes(
      { test: [echo] },
      { agents: { main: {}, support: { tools: { deny: ['group:games'] } } } },
    )
    expect((await invoke(routeGroup, { tool: 'echo' })).status).toBe(200)
    expect((await invoke(routeGroup, { tool: 'echo', sessionKey: 'agent:support:x' })).status).toBe(404)
  })
})

describe('a client of POST /tools/invoke that leaves', () => {
  it('aborts its call, which counts as no failure', async () => {
    const started = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const wait = plain('wait', {
      execute: (_args, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve())
        started.resolve()
        return new Promise(() => {})
      },
    })
    const { url, post, logged } = await openToolRoutes({ games: [wait, plain('other')] })
    const gone = new AbortController()
    const asked = fetch(`${url}/tools/invoke`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gatewayToken}` },
      body: JSON.stringify({ tool: 'wait' }),
      signal: gone.signal,
    })
    await started.promise
    gone.abort()
    await expect(asked).rejects.toThrow()
    await aborted.promise
    expect(await post('/tools/invoke', { tool: 'other' })).toMatchObject({ status: 200, body: { result: 'other' } })
    expect(logged.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
  })
})

describe('the credential', () => {
  const wrong = { authorization: 'Bearer wrong' }

  it('is checked before anything else', async () => {
    const routeGroup = await openToolRoutes({ test: [echo] })
    for (const headers of [wrong, { authorization: '' }, { authorization: `Basic ${gatewayToken}` }]) {
      const answer = await invoke(routeGroup, '{', headers)
      expect([answer.status, answer.body.error.type, answer.headers.get('www-authenticate')]).toEqual([
        401,
        'unauthorized',
        'Bearer',
      ])
    }
    for (const path of ['/tools', '/tools?sessionKey=']) expect((await routeGroup.get(path, wrong)).status).toBe(401)
    expect((await routeGroup.post('/tools/explain', {}, wrong)).status).toBe(401)
    expect((await routeGroup.post(`/tools/invoke?token=${gatewayToken}`, { tool: 'echo' })).body.error.type).toBe(
      'token_in_query',
    )
  })

  it('is the password in password mode', async () => {
    const auth = { mode: 'password', token: gatewayToken, password: 'a-password-of-the-tests-0123' }
    const routeGroup = await openToolRoutes({ test: [echo] }, { gateway: { auth } })
    expect((await invoke(routeGroup, { tool: 'echo' })).status).toBe(401)
    expect((await invoke(routeGroup, { tool: 'echo' }, { authorization: `bearer  ${auth.password}` })).status).toBe(200)
  })

  it.each([
    ['token', 'SVC_GATEWAY_TOKEN'],
    ['password', 'SVC_GATEWAY_PASSWORD'],
  ])('may come from the environment: a %s in %s', async (mode, variable) => {
    const value = `from-the-environment-${mode}-0123456789`
    const routeGroup = await openToolRoutes(
      { test: [echo] },
      { gateway: { auth: { mode } }, env: { [variable]: value } },
    )
    expect((await invoke(routeGroup, { tool: 'echo' }, { authorization: `Bearer ${value}` })).status).toBe(200)
    expect((await invoke(routeGroup, { tool: 'echo' })).status).toBe(401)
  })

  it('that fails too often blocks the address, even with the right credential', async () => {
    const rateLimit = { maxAttempts: 3, lockoutMs: 60_000, exemptLoopback: false }
    const routeGroup = await openToolRoutes({ test: [echo] }, { gateway: { auth: { token: gatewayToken, rateLimit } } })
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await invoke(routeGroup, { tool: 'echo' }, { authorization: '' })).status).toBe(401)
    for (const answer of [
      await invoke(routeGroup, { tool: 'echo' }, wrong),
      await invoke(routeGroup, { tool: 'echo' }),
      await routeGroup.get('/tools'),
    ]) {
      expect([answer.status, answer.body.error.type]).toEqual([429, 'rate_limited'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
  })

  it('that fails from this machine is not counted by default', async () => {
    const routeGroup = await openToolRoutes(
      { test: [echo] },
      { gateway: { auth: { token: gatewayToken, rateLimit: { maxAttempts: 2 } } } },
    )
    for (let attempt = 0; attempt < 5; attempt++)
      expect((await invoke(routeGroup, { tool: 'echo' }, wrong)).status).toBe(401)
    expect((await invoke(routeGroup, { tool: 'echo' })).status).toBe(200)
    // A proxy that is not trusted may bring anybody.
    for (let attempt = 0; attempt < 2; attempt++)
      expect((await invoke(routeGroup, { tool: 'echo' }, { ...wrong, 'x-forwarded-for': '198.51.100.7' })).status).toBe(
        401,
      )
    expect((await invoke(routeGroup, { tool: 'echo' }, { 'x-forwarded-for': '198.51.100.7' })).status).toBe(429)
  })
})

describe('GET /tools', () => {
  it('lists exactly the tools that a call may run', async () => {
    const routeGroup = await openToolRoutes(
      { test: [echo, steer], more: plainTools('gateway') },
      { agents: { main: {}, support: { tools: { deny: ['steer'] } } } },
    )
    const { status, body } = await routeGroup.get('/tools')
    expect([status, body]).toEqual([
      200,
      {
        items: [
          {
            name: 'echo',
            group: 'games',
            description: echo.description,
            args: JSON.parse(JSON.stringify(echo.args)),
            effects: ['reads-private', 'sends'],
            verdict: 'allow',
          },
          {
            name: 'steer',
            description: steer.description,
            args: JSON.parse(JSON.stringify(steer.args)),
            effects: ['reads-private', 'sends'],
            verdict: 'allow',
          },
        ],
      },
    ])
    expect(
      (await routeGroup.get('/tools?sessionKey=agent%3Asupport%3Ax')).body.items.map(
        ({ name }: { name: string }) => name,
      ),
    ).toEqual(['echo'])
  })

  it('returns 400 for a session key that is blank, repeated or incomplete', async () => {
    const routeGroup = await openToolRoutes({ test: [echo] })
    for (const query of ['sessionKey=', 'sessionKey=%20', 'sessionKey=a&sessionKey=b', 'sessionKey=agent:']) {
      expect([query, (await routeGroup.get(`/tools?${query}`)).body.error.type]).toEqual([query, 'invalid_request'])
    }
  })
})

describe('POST /tools/explain', () => {
  it('returns the verdict of every layer and runs nothing', async () => {
    let calls = 0
    const routeGroup = await openToolRoutes(
      { test: [plain('count', { execute: () => calls++ })] },
      { tools: { deny: ['count'] } },
    )
    const { status, body } = await routeGroup.post('/tools/explain', { tool: ' count ', sessionKey: 'main' })
    expect([status, body.tool, body.allowed]).toEqual([200, 'count', false])
    expect(body.layers).toHaveLength(11)
    expect(body.layers).toContainEqual({ layer: 'tools', verdict: 'deny', rule: 'tools.deny: "count"' })
    expect(calls).toBe(0)
  })

  it('agrees with the outcome of a call', async () => {
    const routeGroup = await openToolRoutes(
      { test: [echo, ...plainTools('gateway', 'sessions_send', 'exec', 'cron')] },
      {
        tools: { deny: ['exec'] },
        gateway: { auth: { token: gatewayToken }, tools: { allow: ['gateway'], deny: ['cron'] } },
      },
    )
    for (const tool of ['echo', 'gateway', 'sessions_send', 'exec', 'cron', 'nothing']) {
      const explained = await routeGroup.post('/tools/explain', { tool })
      expect([tool, (await invoke(routeGroup, { tool })).status]).toEqual([tool, explained.body.allowed ? 200 : 404])
    }
  })

  it.each([{}, { tool: '' }, { tool: 'x', sessionKey: 5 }])('returns 400 for %j', async (body) => {
    const routeGroup = await openToolRoutes({ test: [echo] })
    expect((await routeGroup.post('/tools/explain', body)).status).toBe(400)
  })
})

describe('a whole gateway', () => {
  const bearer = { authorization: `Bearer ${gatewayToken}` }

  it('serves built-in tools and tools of plugins within tools.timeoutSeconds', async () => {
    const dir = temporaryFolder()
    const tools =
      "[{ name: 'hang', description: 'Hangs.', args: { type: 'object' }, execute: () => new Promise(() => {}) }]"
    writeFileSync(
      join(dir, 'hang.mjs'),
      `export default { kind: 'toolset', name: 'hanging', description: 'Hangs.', tools: ${tools} }`,
    )
    const { post, get } = await startGateway({ plugins: ['./hang.mjs'], tools: { timeoutSeconds: 1 } }, dir)
    expect((await post('/tools/invoke', { tool: 'session_status' }, bearer)).body).toMatchObject({
      ok: true,
      result: { key: 'agent:main:main' },
    })
    expect((await post('/tools/invoke', { tool: 'hang' }, bearer)).body.error.type).toBe('tool_timeout')
    expect((await get('/tools')).body.items.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['hang', 'session_status']),
    )
    expect((await post('/tools/invoke', { tool: 'session_status' })).status).toBe(401)
  })

  it('knows which tools a plugin provides', async () => {
    const dir = temporaryFolder()
    const tools = "[{ name: 'wave', description: 'Waves.', args: { type: 'object' }, execute: () => 'hi' }]"
    writeFileSync(
      join(dir, 'wave.mjs'),
      `export default { kind: 'toolset', name: 'waving', description: 'Waves.', tools: ${tools} }`,
    )
    const { post } = await startGateway({ plugins: ['./wave.mjs'], tools: { deny: ['group:plugins'] } }, dir)
    const explained = await post('/tools/explain', { tool: 'wave' }, bearer)
    expect(explained.body.layers).toContainEqual({
      layer: 'tools',
      verdict: 'deny',
      rule: 'tools.deny: "group:plugins"',
    })
    expect((await post('/tools/invoke', { tool: 'session_status' }, bearer)).status).toBe(200)
  })
})
