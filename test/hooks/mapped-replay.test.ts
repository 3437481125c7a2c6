// Replays of mapped requests: unchanged, with another body, through another mapping, or as a dry run.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, shareGateway, startGateway } from '../helpers.ts'

const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const operator = { authorization: `Bearer ${gatewayToken}` }

describe('POST /api/requests/:id/replay', () => {
  const gateway = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      mappings: [
        {
          id: 'mail',
          match: { path: 'mail' },
          ...quiet,
          sessionKey: 'hook:mail:{{ from }}',
          messageTemplate: '{{ text }} {{ headers.x-box }}',
          channel: 'console',
        },
        {
          id: 'all',
          match: { path: 'each' },
          action: 'wake',
          wakeMode: 'next-heartbeat',
          forEach: 'items',
          textTemplate: '{{ item }}',
        },
        {
          id: 'busy',
          match: { path: 'busy' },
          ...quiet,
          rateLimit: { maxPerMinute: 2 },
          skip: [{ payload: { spam: true } }],
          messageTemplate: 'x',
        },
      ],
    },
  })
  const replay = (id: string, body: object) => gateway.post(`/api/requests/${id}/replay`, body, operator)
  const sent = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    await gateway.post(path, body, headers)
    return (await gateway.get('/api/requests?limit=1')).body.items[0].id as string
  }

  it('shows the mapping and the actions in a dry run', async () => {
    const id = await sent('/hooks/mail', { from: 'ada', text: 'Hello' }, { 'x-box': 'in' })
    const { body } = await replay(id, { dryRun: true })
    expect(body).toMatchObject({ ok: true, dryRun: true, mapping: 'mail' })
    expect(body.actions).toMatchObject([
      {
        action: 'agent',
        agentId: 'main',
        sessionKey: 'agent:main:hook:mail:ada',
        message: 'Hello in',
        deliver: false,
        wakeMode: 'next-heartbeat',
      },
    ])
  })

  it('starts the actions again, also with another body or through another mapping', async () => {
    const id = await sent('/hooks/mail', 'from=ada&text=Form', { 'content-type': 'application/x-www-form-urlencoded' })
    const again = (await replay(id, {})).body
    expect(again).toMatchObject({ ok: true, sessionKey: 'agent:main:hook:mail:ada', requestId: expect.any(String) })
    expect((await replay(id, { body: { from: 'eve', text: 'Edited' } })).body.sessionKey).toBe(
      'agent:main:hook:mail:eve',
    )
    const other = (await replay(id, { body: { items: ['one', 'two'] }, mapping: 'all' })).body
    expect(other).toMatchObject({ ok: true, eventIds: [expect.any(String), expect.any(String)] })
    expect((await gateway.get(`/api/requests/${other.requestId}`)).body).toMatchObject({ hook: 'mail', replayOf: id })
  })

  it('sends a wake through a mapping, and reports when the mapping skips it', async () => {
    const id = await sent('/hooks/wake', { text: 'News', mode: 'next-heartbeat', from: 'ada' })
    expect((await replay(id, { mapping: 'mail' })).body.sessionKey).toBe('agent:main:hook:mail:ada')
    expect((await replay(id, { mapping: 'all', body: { items: [] } })).body).toEqual({
      ok: true,
      skipped: true,
      requestId: expect.any(String),
    })
    expect((await replay(id, { mapping: 'all', body: { items: [] }, dryRun: true })).body).toMatchObject({
      ok: true,
      dryRun: true,
      mapping: 'all',
      actions: [],
    })
  })

  it('applies the current rules', async () => {
    const id = await sent('/hooks/mail', { from: 'ada', text: 'Hello' })
    expect(await replay(id, { mapping: 'nothing' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('mapping names no mapping') } },
    })
    expect(await replay(id, { body: {} })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('message is required') } },
    })
    expect(await replay(id, { mapping: 'all' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('items must be a list') } },
    })
  })

  it('is not held back by the rate limit, and does not use it up', async () => {
    const id = await sent('/hooks/busy', {})
    for (let count = 0; count < 3; count++) expect(await replay(id, {})).toMatchObject({ status: 200 })
    expect(await replay(id, { body: { spam: true } })).toMatchObject({ status: 200, body: { skipped: true } })
    expect((await gateway.post('/hooks/busy', {})).status).toBe(200)
    expect((await gateway.post('/hooks/busy', {})).status).toBe(429)
    const { items } = (await gateway.get('/api/requests?limit=1')).body
    expect(items).toMatchObject([{ status: 'rejected', hook: 'busy' }])
    expect(await replay(items[0].id, {})).toMatchObject({ status: 200, body: { ok: true, runId: expect.any(String) } })
  })

  it('counts towards the concurrency limit', async () => {
    const model = await startModel()
    for (let count = 0; count < 2; count++) model.script({ hang: true })
    const mapping = { match: { path: 'slow' }, ...quiet, model: 'double/m', concurrency: 1, messageTemplate: 'x' }
    const { post, get } = await startGateway({ providers: model.providers, hooks: { mappings: [mapping] } })
    const first = (await post('/hooks/slow', {})).body.runId
    await model.request(0)
    const { id } = (await get('/api/requests?limit=1')).body.items[0]
    const second = (await post(`/api/requests/${id}/replay`, {}, operator)).body.runId
    const other = (await post('/hooks/agent', { message: 'x', ...quiet, model: 'double/m' })).body.runId
    await model.request(1)
    const status = async (runId: string) => (await get(`/runs/${runId}`)).body.status
    expect([await status(first), await status(second), await status(other)]).toEqual(['running', 'queued', 'running'])
    for (const runId of [second, first, other]) await post(`/api/runs/${runId}/cancel`, {}, operator)
  })
})
