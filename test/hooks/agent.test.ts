// POST /hooks/agent: which bodies are accepted and which are rejected.
import { describe, expect, it } from 'vitest'
import { gatewayToken, shareGateway, startGateway } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { share } from '../share.ts'

/** Runs use the built-in model and wake nobody afterwards. */
const still = { wakeMode: 'next-heartbeat', deliver: false }
const quiet = { heartbeat: { every: 0 } }

describe('POST /hooks/agent', () => {
  const { post, get } = shareGateway({
    agents: {
      defaults: { ...quiet, models: ['builtin/rules', { id: 'builtin/rules', alias: 'fast' }] },
      main: {},
      ops: {},
    },
    channels: { console: { file: 'console.jsonl', defaultTo: undefined } },
  })
  const runOf = async (body: object) =>
    (await get(`/runs/${(await post('/hooks/agent', { message: 'hi', ...still, ...body })).body.runId}`)).body

  it('returns 200 as soon as the run is accepted', async () => {
    const { status, headers, body } = await post('/hooks/agent', { message: 'Say hello.', ...still })
    expect(status).toBe(200)
    expect(body).toEqual({
      ok: true,
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      sessionKey: `agent:main:hook:${body.runId}`,
    })
    expect(headers.get('x-request-id')).toBeTruthy()
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it.each([
    ['no message', { message: undefined }, 'message is required'],
    ['a blank message', { message: '  ' }, 'message must not be blank'],
    ['a message that is no string', { message: ['hi'] }, 'message must be a string'],
    ['a blank name', { name: ' ' }, 'name must not be blank'],
    ['a name that is no string', { name: 1 }, 'name must be a string'],
    ['a blank agentId', { agentId: '' }, 'agentId must not be blank'],
    ['an agentId that is no string', { agentId: null }, 'agentId must be a string'],
    ['an unknown wakeMode', { wakeMode: 'soon' }, 'wakeMode must be one of "now", "next-heartbeat"'],
    ['a deliver that is no boolean', { deliver: 'false' }, 'deliver must be true or false'],
    ['an unknown channel', { channel: 'pigeon' }, 'channel must be one of "last", "whatsapp"'],
    ['a channel in upper case', { channel: 'Slack' }, 'channel must be one of'],
    ['a blank channel', { channel: '' }, 'channel must be one of'],
    ['a blank to', { to: ' ' }, 'to must not be blank'],
    ['a to that is no string', { to: 4917012345 }, 'to must be a string'],
    ['a blank model', { model: ' ' }, 'model must not be blank'],
    [
      'an unknown thinking level',
      { thinking: 'ultra' },
      'thinking must be one of "off", "minimal", "low", "medium", "high", "xhigh"',
    ],
    ['timeoutSeconds as a string', { timeoutSeconds: '5' }, 'timeoutSeconds must be a number'],
    ['timeoutSeconds 0', { timeoutSeconds: 0 }, 'timeoutSeconds must be > 0'],
    ['a negative timeoutSeconds', { timeoutSeconds: -1 }, 'timeoutSeconds must be > 0'],
    ['timeoutSeconds beyond a day', { timeoutSeconds: 86_400.5 }, 'timeoutSeconds must be <= 86400'],
    ['a sessionKey', { sessionKey: 'hook:mine' }, 'sessionKey is not accepted here'],
    ['a blank sessionKey', { sessionKey: ' ' }, 'sessionKey must not be blank'],
    ['a model of an unknown provider', { model: 'nobody/m' }, 'model is not one of the models that may be used'],
    ['an unknown alias', { model: 'slow' }, 'model is not one of the models that may be used'],
  ])('returns 400 for %s and names the field', async (_case, fields, message) => {
    const answer = await post('/hooks/agent', { message: 'hi', ...still, ...fields })
    expect(answer).toMatchObject({
      status: 400,
      body: { ok: false, error: { type: 'invalid_request', message: expect.stringContaining(message) } },
    })
  })

  it.each([
    ['agentId', { agentId: ' OPS ' }, { agentId: 'ops' }],
    ['model', { model: ' builtin/rules ' }, { model: 'builtin/rules' }],
  ])('trims %s', async (_field, sent, kept) => {
    expect(await runOf(sent)).toMatchObject(kept)
  })

  it('trims the channel', async () => {
    expect((await post('/hooks/agent', { message: 'hi', ...still, channel: ' console ' })).status).toBe(200)
  })

  it.each([
    ['a fraction', 0.5],
    ['a whole day', 86_400],
  ])('accepts %s as timeoutSeconds', async (_case, timeoutSeconds) => {
    expect((await post('/hooks/agent', { message: 'hi', ...still, timeoutSeconds })).status).toBe(200)
  })

  it('accepts every thinking level', async () => {
    for (const thinking of ['off', 'minimal', 'low', 'medium', 'high', 'xhigh']) {
      expect((await post('/hooks/agent', { message: 'hi', ...still, thinking })).status).toBe(200)
    }
  })

  it('ignores fields that only a mapping may set', async () => {
    const { body } = await post('/hooks/agent', {
      message: 'hi',
      ...still,
      deliver: true,
      operatorKey: 'main',
      accountId: 'other',
      threadId: { x: 1 },
    })
    expect(body.sessionKey).toMatch(/^agent:main:hook:/)
    const { id } = (await get('/api/requests?limit=1&hook=agent')).body.items[0]
    const { actions } = (
      await post(`/api/requests/${id}/replay`, { dryRun: true }, { authorization: `Bearer ${gatewayToken}` })
    ).body
    expect(actions[0]).not.toMatchObject({ accountId: expect.anything() })
    expect(actions[0]).not.toMatchObject({ threadId: expect.anything() })
    expect(actions[0].sessionKey).toMatch(/^agent:main:hook:/)
  })

  it('ignores unknown fields', async () => {
    expect(
      (await post('/hooks/agent', { message: 'hi', ...still, allowUnsafeExternalContent: true, lane: 'x' })).status,
    ).toBe(200)
  })

  it('uses the default agent for an unknown agentId, whatever its characters', async () => {
    for (const agentId of ['nobody', '../../etc', '__proto__', 'constructor', 'defaults', '💥'])
      expect(await runOf({ agentId })).toMatchObject({ agentId: 'main' })
  })

  it('accepts the alias of a model', async () => {
    const { body } = await post('/hooks/agent', { message: 'hi', ...still, model: 'fast' }, { prefer: 'wait=20' })
    expect(body.status).toBe('succeeded')
    expect((await get(`/runs/${body.runId}`)).body.model).toBe('builtin/rules')
  })

  it('warns when the channel is not configured or not loaded', async () => {
    const { status, body } = await post('/hooks/agent', {
      message: 'hi',
      wakeMode: 'next-heartbeat',
      channel: 'whatsapp',
    })
    expect(status).toBe(200)
    expect(body.warnings).toEqual([expect.stringContaining('"whatsapp"')])
    expect(
      (await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat', channel: 'console', to: 'x' })).body,
    ).not.toHaveProperty('warnings')
  })

  it('does not warn about the channel when the reply is not delivered', async () => {
    expect((await post('/hooks/agent', { message: 'hi', ...still, channel: 'whatsapp' })).body).not.toHaveProperty(
      'warnings',
    )
  })

  it.each([
    ['no channel', {}],
    ['the channel last', { channel: 'last' }],
    ['last, with a recipient', { channel: 'last', to: 'ada' }],
  ])('warns when %s has no route', async (_case, fields) => {
    const { status, body } = await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat', ...fields })
    expect(status).toBe(200)
    expect(body.warnings).toEqual([
      'The channel "last" leads nowhere: no message has come in yet, and "whatsapp" cannot be used; ' +
        'name a channel, or set deliver to false.',
    ])
  })

  it('warns when the channel has no recipient', async () => {
    const { body } = await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat', channel: 'console' })
    expect(body.warnings).toEqual([
      'The channel "console" has no recipient yet; send "to", or set channels.console.defaultTo.',
    ])
  })

  it('warns when the default agent is used for an unknown agentId', async () => {
    const warningsFor = async (agentId: string) =>
      (await post('/hooks/agent', { message: 'hi', ...still, agentId })).body.warnings
    expect(await warningsFor('opps')).toEqual(['agentId names no configured agent; the default agent is used.'])
    for (const agentId of ['main', ' OPS ']) expect(await warningsFor(agentId)).toBeUndefined()
  })
})

/** Each test configures it. */
const configured = share(() => startGateway({ agents: { defaults: quiet } }))

describe('hooks.allowedAgentIds', () => {
  const agents = { defaults: quiet, main: {}, ops: {} }
  const ask = async (allowedAgentIds: string[] | undefined, agentIds: (string | undefined)[]) => {
    await reconfigure(configured(), { agents, ...(allowedAgentIds && { hooks: { allowedAgentIds } }) })
    const { post, get } = configured()
    return await Promise.all(
      agentIds.map(async (agentId) => {
        const { status, body } = await post('/hooks/agent', { message: 'hi', ...still, agentId })
        return status === 200 ? (await get(`/runs/${body.runId}`)).body.agentId : status
      }),
    )
  }

  it('allows every agent when it is absent or contains "*"', async () => {
    expect(await ask(undefined, [undefined, 'ops', 'nobody'])).toEqual(['main', 'ops', 'main'])
    expect(await ask(['*', 'main'], [undefined, 'ops', 'nobody'])).toEqual(['main', 'ops', 'main'])
  })

  it('rejects every explicit id, and only those, when it is empty', async () => {
    expect(await ask([], [undefined, 'main', 'ops', 'nobody'])).toEqual(['main', 400, 400, 400])
  })

  it('checks the requested id, trimmed and in any case; an unknown listed id uses the default agent', async () => {
    expect(await ask(['OPS', 'ghost'], [undefined, ' Ops ', 'main', 'ghost', 'nobody'])).toEqual([
      'main',
      'ops',
      400,
      'main',
      400,
    ])
  })
})

describe('agents.defaults.models', () => {
  const statuses = async (models: unknown[] | undefined, requested: string[]) => {
    await reconfigure(configured(), { agents: { defaults: { ...quiet, ...(models && { models }) } } })
    const ask = (model: string) => configured().post('/hooks/agent', { message: 'hi', ...still, model })
    return (await Promise.all(requested.map(ask))).map(({ status }) => status)
  }

  it('allows every model of a known provider when it is absent', async () => {
    expect(await statuses(undefined, ['builtin/whatever', 'nobody/m', 'no-slash'])).toEqual([200, 400, 400])
  })

  it('allows no model when it is empty', async () => {
    expect(await statuses([], ['builtin/rules'])).toEqual([400])
  })

  it('is named in the error, unless the list of the agent decides', async () => {
    const agents = { defaults: { ...quiet, models: ['builtin/rules'] }, main: {}, ops: { models: ['builtin/small'] } }
    await reconfigure(configured(), { agents })
    const { post } = configured()
    const refused = async (agentId: string, model: string) =>
      (await post('/hooks/agent', { message: 'hi', ...still, agentId, model })).body.error?.message
    expect(await refused('main', 'builtin/small')).toContain('name one of agents.defaults.models, or add it there')
    expect(await refused('ops', 'builtin/rules')).toContain('name one of agents.ops.models, or add it there')
    expect(await refused('ops', 'builtin/small')).toBeUndefined()
  })

  it('must contain the requested model', async () => {
    expect(await statuses(['builtin/rules'], ['builtin/other', 'builtin/rules'])).toEqual([400, 200])
  })
})
