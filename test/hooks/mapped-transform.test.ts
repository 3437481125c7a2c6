// Mappings with a transform, and presets.
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Document,
  gatewayToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
  writeConfig,
} from '../helpers.ts'
import { share } from '../share.ts'

const agents = { defaults: { heartbeat: { every: 0 } }, main: {}, ops: {} }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

const shaping = `
import { Type } from 'svc-gateway/transform'
export const payload = Type.Object({ what: Type.String() })
const events = (length) => Array.from({ length }, () => ({ action: 'wake', text: 'x', agentId: 'ops' }))
const answers = {
  nothing: undefined,
  skip: null,
  empty: [],
  override: { message: 'from the transform', name: 'T', agentId: 'ops' },
  several: [{ message: 'one' }, { action: 'wake', text: 'two' }],
  unknown: { colour: 'red' },
  agent: { agentId: 'nobody-listed' },
  channel: { channel: 'pigeon' },
  account: { accountId: ' ' },
  thread: { threadId: ' ' },
  key: { sessionKey: 'main' },
  ownKey: { sessionKey: ' hook:Stock:7' },
  ownKeys: [{ message: 'one', sessionKey: 'hook:stock:7' }, { message: 'two', sessionKey: 'hook:stock:8' }],
  half: [{ message: 'one' }, { message: ' ' }],
  twice: { idempotencyKey: 'same' },
  many: Array.from({ length: 200 }, (_, index) => ({ name: 'n' + index })),
  most: events(200),
  tooMany: events(201),
}
export default ({ payload, headers, path, mapping }) => {
  if (payload.what === 'throw') throw new Error('the payload said 4711')
  if (payload.what === 'see') return { message: JSON.stringify({ headers: Object.keys(headers), path, mapping }) }
  return answers[payload.what]
}`

const viewerToken = 'token-of-a-viewer-0123456789-0123456789'

async function start(hooks: Document, files: Record<string, string> = {}): Promise<RunningGateway> {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'transforms', name), text)
  const clients = [{ name: 'viewer', role: 'viewer', token: viewerToken }]
  return await startGateway({ agents, hooks, gateway: { auth: { token: gatewayToken, clients } } }, dir)
}

const secret = 'the secret of the webhook'
const shared = share(() => {
  const shaped = { id: 'shaped', match: { path: 'shaped' }, ...quiet, messageTemplate: 'from the mapping' }
  const hooks = {
    allowedAgentIds: ['main', 'ops'],
    mappings: [
      { ...shaped, transform: { module: 'shape.ts' } },
      {
        ...shaped,
        id: 'copies',
        match: { path: 'copies' },
        messageTemplate: '{{ rest }}',
        transform: { module: 'shape.ts' },
      },
      { match: { path: 'missing' }, transform: { module: 'nowhere.ts' } },
      { match: { path: 'there' }, ...quiet, messageTemplate: 'x' },
    ],
    presets: ['github'],
    github: { auth: { secret }, agentId: 'ops', ...quiet },
  }
  return start(hooks, { 'shape.ts': shaping })
})

describe('a transform', () => {
  it('changes the action, skips the request, or returns several actions', async () => {
    const gateway = shared()
    const send = (what: unknown) => gateway.post('/hooks/shaped', { what })
    const runOf = async (runId: string) => (await gateway.get(`/runs/${runId}`)).body

    expect((await runOf((await send('nothing')).body.runId)).agentId).toBe('main')
    for (const what of ['skip', 'empty']) expect((await send(what)).body).toEqual({ ok: true, skipped: true })
    expect(await runOf((await send('override')).body.runId)).toMatchObject({ agentId: 'ops', name: 'T' })
    expect((await send('several')).body).toEqual({
      ok: true,
      runIds: [expect.any(String)],
      eventIds: [expect.any(String)],
    })

    for (const what of ['unknown', 'throw']) {
      const { status, body } = await send(what)
      expect({ status, error: body.error }).toEqual({
        status: 500,
        error: { type: 'transform_failed', message: expect.not.stringContaining('4711') },
      })
    }
    expect(gateway.logged.filter((line) => line.includes('"mapping":"shaped","fault"'))).toHaveLength(2)
    expect(gateway.logged.join()).not.toContain('4711')
    await expect
      .poll(async () => (await gateway.get('/api/requests?status=failed')).body.items[0]?.error.detail)
      .toContain('the payload said 4711')

    const viewer = { authorization: `Bearer ${viewerToken}` }
    const { items } = (await gateway.get('/api/requests?status=failed', viewer)).body
    expect(items[0].error.message).toMatch(/^The transform \S+ threw an? Error at /)
    expect(JSON.stringify(items)).not.toContain('4711')

    expect((await send('ownKey')).body.sessionKey).toBe('agent:main:hook:stock:7')
    const keys = (await send('ownKeys')).body.runIds.map(async (id: string) => (await runOf(id)).sessionKey)
    expect(await Promise.all(keys)).toEqual(['agent:main:hook:stock:7', 'agent:main:hook:stock:8'])

    for (const what of ['agent', 'channel', 'account', 'thread', 'key', 'half', 7])
      expect(await send(what)).toMatchObject({ status: 400, body: { error: { type: 'invalid_request' } } })
    expect((await send(7)).body.error.message).toBe('what must be a string.')
    const first = await send('twice')
    expect((await send('twice')).body).toEqual(first.body)

    const { body } = await gateway.post('/hooks/shaped', { what: 'see' }, { 'x-event': 'push', prefer: 'wait=30' })
    expect(body.reply).toContain('x-event')
    expect(body.reply).not.toContain('authorization')
    expect(body.reply).toContain('"id":"shaped"')

    const { paths } = (await gateway.get('/openapi.json')).body
    expect(paths['/hooks/shaped'].post.requestBody.content['application/json'].schema.properties.what).toMatchObject({
      type: 'string',
    })
  })

  it('returns 400 when its actions have more than 4 MiB of text together with the templates', async () => {
    const { post } = shared()
    expect(await post('/hooks/copies', { what: 'many', rest: 'x'.repeat(30_000) })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('The mapping "copies" makes more than 4 MiB of text') } },
    })
  })

  it('returns 500 and starts nothing when it returns more than 200 actions', async () => {
    const { post, get, logged } = shared()
    expect((await post('/hooks/shaped', { what: 'most' })).body.eventIds).toHaveLength(200)
    expect(await post('/hooks/shaped', { what: 'tooMany' })).toMatchObject({
      status: 500,
      body: { error: { type: 'transform_failed' } },
    })
    expect(logged.join()).toContain('returned an invalid result: it returned 201 actions; the maximum is 200')
    expect((await get('/api/sessions/agent%3Aops%3Amain')).body.events).toHaveLength(200)
  })

  it('that is missing does not stop the start: its hook returns 500, the others work', async () => {
    const { post } = shared()
    expect(await post('/hooks/missing', {})).toMatchObject({
      status: 500,
      body: { error: { type: 'transform_failed' } },
    })
    expect((await post('/hooks/there', {})).status).toBe(200)
  })
})

describe('a changed configuration', () => {
  it('changes the mappings and keeps the transforms running', async () => {
    const mapping = { match: { path: 'first' }, ...quiet, messageTemplate: 'x', transform: { module: 'shape.ts' } }
    const { gateway, post, dir } = await start({ mappings: [mapping] }, { 'shape.ts': shaping })
    const what = { what: 'override' }
    expect((await post('/hooks/first', what)).status).toBe(200)
    writeConfig(dir, { agents, hooks: { mappings: [{ ...mapping, match: { path: 'second' } }] } })
    await gateway.reload()
    expect((await post('/hooks/first', what)).status).toBe(404)
    expect((await post('/hooks/second', what)).status).toBe(200)
    writeConfig(dir, { agents, hooks: { mappings: [{ ...mapping, transform: { module: '../shape.ts' } }] } })
    await expect(gateway.reload()).rejects.toThrow('transform.module cannot be used')
    expect((await post('/hooks/second', what)).status).toBe(200)
  })
})

describe('a preset', () => {
  const push = JSON.stringify({
    action: 'opened',
    issue: { number: 7, title: 'It is broken', html_url: 'https://github.com/a/b/issues/7', user: { login: 'ada' } },
    repository: { full_name: 'a/b', html_url: 'https://github.com/a/b' },
    sender: { login: 'ada' },
  })
  const signed = (id: string, event = 'issues') => ({
    authorization: '',
    'x-github-event': event,
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(push).digest('hex')}`,
  })

  it('is reached by its name with the signature of its service, once for each request', async () => {
    const gateway = shared()
    const { status, body } = await gateway.post('/hooks/github', push, signed('d-1'))
    expect(status).toBe(200)
    expect(body.sessionKey).toBe('agent:ops:hook:github:a/b#7')
    expect((await gateway.get(`/runs/${body.runId}`)).body).toMatchObject({
      name: 'GitHub',
      origin: { name: 'github', auth: 'signed' },
    })
    const again = await gateway.post('/hooks/github', push, signed('d-1'))
    expect(again.body).toEqual(body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await gateway.post('/hooks/github', push, signed('d-2', 'star'))).body).toEqual({ ok: true, skipped: true })
    expect((await gateway.post('/hooks/github', push)).status).toBe(401)
    const { 'x-github-event': _event, ...blind } = signed('d-3')
    expect((await gateway.post('/hooks/github', push, blind)).body.error.message).toContain('X-GitHub-Event is missing')
    const { paths } = (await gateway.get('/openapi.json')).body
    expect(paths['/hooks/github'].post.requestBody).toBeDefined()
  })

  it('comes after the mappings, and accepts the hook token when its section has no auth', async () => {
    const gateway = await start({
      presets: ['github'],
      github: quiet,
      mappings: [{ match: { path: 'github', source: 'mine' }, ...quiet, messageTemplate: 'mine' }],
    })
    const headers = { 'x-github-event': 'issues' }
    expect(
      (await gateway.post('/hooks/github', { source: 'mine' }, { ...headers, prefer: 'wait=30' })).body.reply,
    ).toContain('mine')
    expect((await gateway.post('/hooks/github', push, headers)).body.sessionKey).toBe('agent:main:hook:github:a/b#7')
  })
})
