// `keepBody: false`: the body of a request is used and not stored, whatever the outcome.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const calm = { agents: { defaults: { heartbeat: { every: 0 } } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const operator = { authorization: `Bearer ${gatewayToken}` }
const secret = 'the diagnosis'

async function start(hooks: Document, changes: Document = calm, dir = temporaryFolder()) {
  const running = await startGateway(
    { ...changes, hooks: { enabled: true, token: 'hook-token-of-the-tests-0123456789', ...hooks } },
    dir,
  )
  const list = async (query = '') =>
    (await running.get(`/api/requests${query}`)).body.items as { id: string; hook: string; status: string }[]
  const kept = async (query = '') => (await running.get(`/api/requests/${(await list(query))[0]!.id}`)).body
  const replay = (id: string, body: object) => running.post(`/api/requests/${id}/replay`, body, operator)
  return { ...running, list, kept, replay }
}

describe('hooks.keepBody: false', () => {
  const mapping = { ...quiet, messageTemplate: '{{ text }}' }
  const shared = share(() =>
    start({
      keepBody: false,
      mappings: [
        { match: { path: 'plain' }, ...mapping },
        { match: { path: 'kept' }, ...mapping, keepBody: true },
      ],
    }),
  )

  it('stores no body of wake and agent requests, which work as usual', async () => {
    const { post, get, list, kept } = shared()
    const { runId } = (await post('/hooks/agent', { message: secret, ...quiet }, { prefer: 'wait=30' })).body
    expect(await get(`/runs/${runId}`)).toMatchObject({ body: { status: 'succeeded' } })
    expect(await kept()).toMatchObject({ hook: 'agent', status: 'accepted', body: null, runIds: [runId] })
    await post('/hooks/agent', { message: secret, timeoutSeconds: secret })
    await expect.poll(async () => (await list('?status=rejected')).length).toBe(1)
    expect(await kept('?status=rejected')).toMatchObject({ body: null, error: { type: 'invalid_request' } })
  })

  it('stores no body for a hook that does not exist', async () => {
    const { post, list, kept } = shared()
    await post('/hooks/nowhere', { text: secret })
    await expect.poll(async () => (await list('?hook=nowhere')).length).toBe(1)
    expect(await kept('?hook=nowhere')).toMatchObject({ status: 'rejected', body: null })
  })

  it('stores the text of a wake until a turn has rendered it, also over a restart', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Noted.' })
    const config = { providers: model.providers, agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } } }
    const first = await start({ keepBody: false }, config)
    await first.post('/hooks/wake', { text: secret, mode: 'next-heartbeat' })
    expect(await first.kept()).toMatchObject({ hook: 'wake', body: null })
    await first.gateway.close()
    const again = await start({ keepBody: false }, config, first.dir)
    expect((await again.get('/api/sessions/main')).body.events).toMatchObject([{ text: secret }])
    await again.post('/hooks/wake', { text: 'look now' })
    expect(await model.prompt(0)).toMatch(/the diagnosis[^]*look now/)
  })

  it('stores no body of a duplicate', async () => {
    const { post, list, kept } = shared()
    for (let n = 0; n < 2; n++) await post('/hooks/agent', { message: secret, ...quiet }, { 'idempotency-key': 'once' })
    await expect.poll(async () => (await list('?status=duplicate')).length).toBe(1)
    expect(await kept('?status=duplicate')).toMatchObject({ body: null })
  })

  it('applies to mappings without their own keepBody', async () => {
    const { post, kept } = shared()
    await post('/hooks/plain', { text: secret })
    expect((await kept()).body).toBeNull()
    await post('/hooks/kept', { text: secret })
    expect((await kept()).body).toBe(`{"text":"${secret}"}`)
  })
})

describe('keepBody: false of one mapping', () => {
  const mapping = { match: { path: 'clinic' }, id: 'clinic', ...quiet, messageTemplate: '{{ text }}', keepBody: false }
  const shared = share(() =>
    start({
      mappings: [mapping, { ...mapping, id: 'lab', match: { path: 'lab', source: 'blood' } }],
      presets: ['home-assistant'],
      'home-assistant': { keepBody: false },
    }),
  )

  it('does not affect other hooks', async () => {
    const { post, kept } = shared()
    await post('/hooks/clinic', { text: secret })
    expect(await kept()).toMatchObject({ status: 'accepted', body: null })
    await post('/hooks/agent', { message: 'hi', ...quiet })
    expect((await kept()).body).toContain('hi')
  })

  it('applies to skipped and rejected requests, also before the mapping is found', async () => {
    const { post, list, kept } = shared()
    await post('/hooks/lab', `{"text":"${secret}"`)
    await expect.poll(async () => (await list('?status=rejected')).length).toBe(1)
    expect(await kept('?status=rejected')).toMatchObject({ hook: 'lab', body: null })
    await post('/hooks/lab', { source: 'blood', other: secret })
    await expect.poll(async () => (await list('?status=rejected')).length).toBe(2)
    expect(await kept('?status=rejected')).toMatchObject({ body: null, error: { type: 'invalid_request' } })
  })

  it('allows a replay only with a new body, which is not stored either', async () => {
    const { post, kept, replay } = shared()
    await post('/hooks/clinic', { text: secret })
    const { id } = await kept()
    expect(await replay(id, {})).toMatchObject({
      status: 409,
      body: { error: { type: 'conflict', message: expect.stringContaining('The body of this request is not stored') } },
    })
    expect(await replay(id, { body: { text: 'again' } })).toMatchObject({ status: 200 })
    expect(await kept()).toMatchObject({ replayOf: id, body: null })
  })

  it('can be set for a preset', async () => {
    const { post, kept } = shared()
    expect((await post('/hooks/home-assistant', { message: secret })).status).toBe(200)
    expect(await kept()).toMatchObject({ hook: 'home-assistant', body: null })
  })
})
