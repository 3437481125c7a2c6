// Tests `POST /api/hooks/preview`: what a mapping that is not in the configuration makes of a request.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const transform = `export default (input) => {
  const { payload } = input
  if (payload.loud) console.warn('loud', payload.loud)
  if (payload.same) return undefined
  if (payload.input) return { message: Object.keys(input).toSorted().join(' ') }
  while (payload.endless);
  if (payload.broken) throw new Error('no ' + payload.broken)
  return payload.skip ? null : { message: 'From code: ' + payload.title }
}`

describe('POST /api/hooks/preview', () => {
  const gateway = share(() => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'transforms'))
    writeFileSync(join(dir, 'transforms', 'titles.ts'), transform)
    const mappings = [{ match: { path: 'titles' }, transform: { module: 'titles.ts' } }]
    return startGateway({ hooks: { enabled: true, token: hookToken, mappings } }, dir)
  })

  async function preview(mapping: string | object, request: object = {}) {
    const { status, body } = await gateway().post(
      '/api/hooks/preview',
      { mapping: typeof mapping === 'string' ? mapping : JSON.stringify(mapping), body: '{}', ...request },
      { authorization: `Bearer ${gatewayToken}` },
    )
    return { status, ...body }
  }

  const issue = { action: 'opened', issue: { title: 'It burns', labels: ['fire'] } }

  it('renders what the agent would read, and starts and stores nothing', async () => {
    const mapping = `{
      // A comment.
      id: 'issues',
      match: { path: 'issues', headers: { 'X-Event': 'issue' }, payload: { action: 'opened' } },
      messageTemplate: 'New: {{issue.title}} from {{headers.x-event}} {{query.page}}',
      sessionKey: 'hook:issue', deliver: false,
    }`
    const request = { body: JSON.stringify(issue), headers: { 'x-event': 'issue' }, query: { page: '2' } }
    const reply = await preview(mapping, request)
    expect(reply).toMatchObject({ ok: true, problems: [], warnings: [], isMatch: true, unmet: [] })
    expect(reply.actions).toEqual([
      expect.objectContaining({ action: 'agent', sessionKey: 'agent:main:hook:issue', deliver: false }),
    ])
    expect(reply.actions[0].message).toBe('New: It burns from issue 2')
    expect(reply.actions[0].prompt).toMatch(/<<<OUTSIDE TEXT \w+>>>/)
    expect((await gateway().get('/api/requests')).body.items).toEqual([])
    expect((await gateway().get('/api/runs')).body.items).toEqual([])
  })

  it('reads the names of headers in any case, as a hook does', async () => {
    const match = { path: 'issues', headers: { 'X-Event': 'issue' } }
    const reply = await preview(
      { match, messageTemplate: '{{headers.x-event}}', deliver: false },
      { headers: { 'X-Event': 'issue' } },
    )
    expect(reply).toMatchObject({ isMatch: true, actions: [{ message: 'issue' }] })
  })

  it('is forbidden to a client that may not read what waits in a session', async () => {
    const client = { name: 'op', role: 'operator', content: false, token: 'token-of-op-0123456789-0123456789' }
    const { post } = await startGateway({ gateway: { auth: { token: gatewayToken, clients: [client] } } })
    const body = { mapping: '{ match: { path: "a" }, action: "wake", textTemplate: "x" }', body: '{}' }
    expect(await post('/api/hooks/preview', body, { authorization: `Bearer ${client.token}` })).toMatchObject({
      status: 403,
      body: { error: { type: 'forbidden', message: expect.stringContaining('content') } },
    })
  })

  it('says which conditions do not hold', async () => {
    const match = {
      path: 'issues',
      source: 'us',
      headers: { 'x-event': 'push' },
      payload: { 'issue.labels[0]': 'ice' },
    }
    const reply = await preview(
      { match, messageTemplate: 'x' },
      { body: JSON.stringify(issue), headers: { 'x-event': 'issue' }, hook: 'other' },
    )
    expect(reply.isMatch).toBe(false)
    expect(reply.unmet).toEqual([
      'match.path',
      'match.source',
      'match.headers["x-event"]',
      'match.payload["issue.labels[0]"]',
    ])
    expect(reply.actions).toHaveLength(1)
  })

  it('names the key and the line of each problem', async () => {
    const reply = await preview(`{
      match: { path: 'issues' },
      mesageTemplate: 'x',
      messageTemplate: 'Hello {{issue.title | shout}}',
      thinking: 'very much',
    }`)
    expect(reply.problems.map(({ path, line }: { path: string; line: number }) => [path, line])).toEqual([
      ['mesageTemplate', 3],
      ['messageTemplate', 4],
      ['thinking', 5],
    ])
    expect(reply.problems[0].problem).toContain('did you mean "messageTemplate"?')
    expect(reply.actions).toBeUndefined()
  })

  it('names the place of invalid JSON5', async () => {
    const reply = await preview('{\n  match: {{\n}')
    expect(reply.problems).toMatchObject([
      { path: '', line: 2, column: 11, problem: expect.stringContaining('invalid JSON5') },
    ])
    expect((await preview('[1]')).problems[0].problem).toContain('must be an object')
  })

  it('warns of what would be refused later', async () => {
    const reply = await preview({ match: { path: 'issues' }, textTemplate: 'x' })
    expect(reply.warnings[0]).toMatchObject({ path: 'textTemplate' })
    expect(reply.error).toMatchObject({ type: 'invalid_request', message: expect.stringContaining('message') })
  })

  it('returns why the hook would refuse the request', async () => {
    const each = { match: { path: 'a' }, forEach: 'payload.items', messageTemplate: '{{item}}' }
    expect((await preview(each)).error.message).toContain('payload.items must be a list')
    expect((await preview(each, { body: '{"items":["a","b"]}' })).actions).toHaveLength(2)
    expect(await preview(each, { body: 'not JSON' })).toMatchObject({ problems: [], error: { type: 'invalid_json' } })
  })

  it('shows which rule of "skip" applies', async () => {
    const skip = [{ payload: { action: 'closed' } }, { payload: { action: 'opened' } }]
    const reply = await preview(
      { id: 'quiet', match: { path: 'a' }, skip, messageTemplate: 'x' },
      { body: JSON.stringify(issue) },
    )
    expect(reply).toMatchObject({ actions: [], skippedBy: { mapping: 'quiet', rule: 1 } })
  })

  it('runs a transform of the transforms directory', async () => {
    const mapping = { match: { path: 'a' }, transform: { module: 'titles.ts' } }
    expect((await preview(mapping, { body: '{"title":"Hi"}' })).actions[0].message).toBe('From code: Hi')
    expect((await preview(mapping, { body: '{"skip":true}' })).actions).toEqual([])
    expect((await preview(mapping, { body: '{"broken":"bridge"}' })).error).toMatchObject({
      type: 'transform_failed',
      detail: expect.stringContaining('no bridge'),
    })
    const outside = await preview({ match: { path: 'a' }, transform: { module: '../gateway.json5' } })
    expect(outside.problems[0].path).toBe('transform.module')
  })

  it('gives a transform the fields that a hook gives it', async () => {
    const mapping = { match: { path: 'a' }, transform: { module: 'titles.ts' } }
    const { actions } = await preview(mapping, { body: '{"input":true}' })
    expect(actions[0].message).toBe('headers mapping now path payload query')
  })

  it('says what the transform returned and logged, and where it failed', async () => {
    const mapping = { match: { path: 'a' }, messageTemplate: 'From the mapping', transform: { module: 'titles.ts' } }
    const tried = async (payload: object) => (await preview(mapping, { body: JSON.stringify(payload) })).transform
    expect(await tried({ title: 'Hi', loud: 'very' })).toEqual({
      logs: [{ level: 'warn', text: 'loud very' }],
      ms: expect.any(Number),
      result: { message: 'From code: Hi' },
    })
    expect(await tried({ skip: true })).toEqual({ logs: [], ms: expect.any(Number), result: null })
    expect(await tried({ same: true })).toEqual({ logs: [], ms: expect.any(Number) })
    const failed = await preview(mapping, { body: '{"loud":"very","broken":"bridge"}' })
    expect(failed).toMatchObject({
      error: { message: 'The transform titles.ts threw an Error at titles.ts:7.' },
      transform: { logs: [{ level: 'warn', text: 'loud very' }] },
    })
    expect(failed.transform).not.toHaveProperty('ms')
    // It is not called for a request that is skipped before, and what it returned is shown if the hook refuses it.
    const skipped = await preview({ ...mapping, skip: { payload: { title: 'Hi' } } }, { body: '{"title":"Hi"}' })
    expect(skipped).not.toHaveProperty('transform')
    const refused = await preview({ ...mapping, agentId: '{{' }, { body: 'not JSON' })
    expect(refused).not.toHaveProperty('transform')
    const missing = await preview({ ...mapping, transform: { module: 'none.ts' } })
    expect(missing.error.message).toBe(
      'There is no none.ts in the transforms directory; check the name and its extension.',
    )
  })

  it('leaves the hooks alone that use a transform which it had to stop', async () => {
    const mapping = { match: { path: 'a' }, transform: { module: 'titles.ts', timeoutMs: 100 } }
    for (let attempt = 0; attempt < 4; attempt++)
      expect((await preview(mapping, { body: '{"endless":true}' })).error.message).toContain('did not end within')
    expect((await gateway().post('/hooks/titles', { title: 'Hi' })).status).toBe(200)
  })

  it('reads neither secrets nor the environment', async () => {
    const auth = { scheme: 'github', secret: { file: '/etc/hostname' } }
    const reply = await preview({ match: { path: 'a' }, auth, messageTemplate: '${HOME} {{payload}}' })
    expect(reply.problems).toEqual([])
    expect(reply.actions[0].message).toContain('${HOME}')
  })

  it('needs the credential, and hooks that are enabled', async () => {
    expect((await gateway().post('/api/hooks/preview', { mapping: '{}', body: '{}' })).status).toBe(401)
    const { post } = await startGateway({ hooks: { enabled: false } })
    const reply = await post(
      '/api/hooks/preview',
      { mapping: '{}', body: '{}' },
      { authorization: `Bearer ${gatewayToken}` },
    )
    expect(reply).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('hooks.enabled') } } })
  })
})
