// Wake mappings with an agent or a session: where the event waits, and which agent is woken.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel, systemOf } from '../doubles/model.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { share } from '../share.ts'

const wake = { action: 'wake', textTemplate: '{{ text }}' }
const mappings = [
  { id: 'plain', match: { path: 'plain' }, ...wake },
  { id: 'ops', match: { path: 'ops' }, ...wake, agentId: ' OPS ' },
  { id: 'deploys', match: { path: 'deploys' }, ...wake, agentId: 'ops', sessionKey: 'hook:deploys:{{ service }}' },
  {
    id: 'later',
    match: { path: 'later' },
    ...wake,
    agentId: 'ops',
    sessionKey: 'hook:later',
    wakeMode: 'next-heartbeat',
  },
  { id: 'free', match: { path: 'free' }, ...wake, sessionKey: '{{ key }}' },
  { id: 'unknown', match: { path: 'unknown' }, ...wake, agentId: 'nobody' },
]
const shaped = { id: 'shaped', match: { path: 'shaped' }, action: 'wake', transform: { module: 'shape.js' } }

type Options = Document & { heartbeat?: Document; ops?: Document; dir?: string }

async function start({ heartbeat, ops = {}, dir = temporaryFolder(), hooks, ...changes }: Options = {}) {
  const model = await startModel()
  model.otherwise({ text: 'HEARTBEAT_OK' })
  mkdirSync(join(dir, 'transforms'), { recursive: true })
  writeFileSync(join(dir, 'transforms', 'shape.js'), 'export default ({ payload }) => payload')
  const agents = { defaults: { model: 'double/m', heartbeat: { every: 0, ...heartbeat } }, main: {}, ops }
  const config = {
    providers: model.providers,
    gateway: { drainSeconds: 0 },
    agents,
    hooks: { mappings, ...(hooks as Document) },
    ...changes,
  }
  return { ...(await startGateway(config, dir)), config, model, dir }
}

const heartbeats = async ({ get }: Pick<RunningGateway, 'get'>) =>
  (await get('/api/runs?limit=50')).body.items.flatMap(
    ({ kind, agentId, sessionKey, status }: Record<string, string>) =>
      kind === 'heartbeat' ? `${agentId} ${sessionKey} ${status}` : [],
  )

const eventsOf = async ({ get }: Pick<RunningGateway, 'get'>, key: string): Promise<string[]> =>
  (await get(`/api/sessions/${encodeURIComponent(key)}`)).body.events?.map(({ text }: { text: string }) => text)

/** For tests whose events only wait. */
const shared = share(() => start({ hooks: { mappings: [...mappings, shaped] } }))

describe('a wake mapping', () => {
  it('wakes only its agent: in the main session, with HEARTBEAT.md, or in the session that it names', async () => {
    const dir = temporaryFolder()
    const workspace = join(dir, 'state', 'workspaces', 'ops')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'HEARTBEAT.md'), 'Water the plants.')
    const gateway = await start({ dir })
    const { model, post } = gateway

    expect((await post('/hooks/ops', { text: 'The disk is full.' })).body).toEqual({
      ok: true,
      mode: 'now',
      eventId: expect.any(String),
    })
    expect(await model.prompt(0)).toContain('The disk is full.')
    expect(await model.prompt(0)).toContain('Water the plants.')
    expect(systemOf(await model.request(0))).toContain('You are ops')
    const runs = ['ops agent:ops:main succeeded']
    await expect.poll(() => heartbeats(gateway)).toEqual(runs)

    await post('/hooks/deploys', { text: 'The shop is out.', service: 'Shop' })
    expect(await model.prompt(1)).toContain('The shop is out.')
    expect(await model.prompt(1)).not.toContain('Water the plants.')
    runs.unshift('ops agent:ops:hook:deploys:shop succeeded')
    await expect.poll(() => heartbeats(gateway)).toEqual(runs)

    await post('/hooks/plain', { text: 'News for main.' })
    expect(await model.prompt(2)).toContain('News for main.')
    runs.unshift('main agent:main:main succeeded')
    await expect.poll(() => heartbeats(gateway)).toEqual(runs)
  })

  it('warns about an unknown agent and wakes the default agent', async () => {
    const gateway = await start({
      hooks: { mappings: [{ match: { path: 'opps' }, action: 'wake', agentId: 'opps', textTemplate: '{{ text }}' }] },
    })
    const { body } = await gateway.post('/hooks/opps', { text: 'The disk is full.' })
    expect(body).toMatchObject({
      ok: true,
      warnings: ['agentId names no configured agent; the default agent is used.'],
    })
    expect(systemOf(await gateway.model.request(0))).toContain('You are main')
  })

  it('with next-heartbeat waits in that session for the next periodic check', async () => {
    const gateway = await start({ ops: { heartbeat: { every: '1s' } } })
    await gateway.post('/hooks/later', { text: 'Read this in time.' })
    expect(await eventsOf(gateway, 'agent:ops:hook:later')).toEqual(['Read this in time.'])
    expect(await gateway.model.prompt(0)).toContain('Read this in time.')
    await expect.poll(() => heartbeats(gateway)).toEqual(['ops agent:ops:hook:later succeeded'])
  })

  it('wakes its agent after a restart', async () => {
    const dir = temporaryFolder()
    const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
    const closed = { activeHours: { start: clock(5), end: clock(6), timezone: 'UTC' } }
    const before = await start({ dir, heartbeat: closed })
    await before.post('/hooks/deploys', { text: 'The shop is out.', service: 'shop' })
    await before.gateway.close()
    const after = await start({ dir })
    expect(await after.model.prompt(0)).toContain('The shop is out.')
    await expect.poll(() => heartbeats(after)).toEqual(['ops agent:ops:hook:deploys:shop succeeded'])
  })

  it('wakes its agent in global scope, where all agents share one main session', async () => {
    const gateway = await start({ session: { scope: 'global' } })
    await gateway.post('/hooks/ops', { text: 'The disk is full.' })
    expect(systemOf(await gateway.model.request(0))).toContain('You are ops')
    await expect.poll(() => heartbeats(gateway)).toEqual(['ops global succeeded'])
  })

  it('follows the same rules for agents and session keys as an agent mapping', async () => {
    const { config, post } = shared()
    const limits = { allowedAgentIds: ['main'], allowedSessionKeyPrefixes: ['hook:'] }
    await reconfigure(shared(), { ...config, hooks: { ...config.hooks, ...limits } })
    const refusal = async (path: string, payload: object) =>
      (await post(path, { text: 'x', ...payload })).body.error?.message
    try {
      expect(await refusal('/hooks/ops', {})).toContain('agentId is not one of hooks.allowedAgentIds')
      expect(await refusal('/hooks/free', { key: 'main' })).toContain('sessionKey is not accepted here')
      expect(await refusal('/hooks/shaped', { agentId: 'ops' })).toContain(
        'agentId is not one of hooks.allowedAgentIds',
      )
      expect(await refusal('/hooks/shaped', { agentId: ' ' })).toContain('agentId must not be blank')
      expect(await refusal('/hooks/shaped', { sessionKey: 'main' })).toContain('sessionKey is not accepted here')
    } finally {
      await reconfigure(shared(), config)
    }
  })

  it('accepts both from a transform; an unknown agentId means the default agent', async () => {
    const gateway = shared()
    const quiet = { text: 'x', wakeMode: 'next-heartbeat' }
    await gateway.post('/hooks/shaped', { ...quiet, agentId: 'Ops', sessionKey: 'hook:a' })
    expect(await eventsOf(gateway, 'agent:ops:hook:a')).toEqual(['x'])
    await gateway.post('/hooks/shaped', { ...quiet, sessionKey: 'hook:b' })
    expect(await eventsOf(gateway, 'agent:main:hook:b')).toEqual(['x'])
    await gateway.post('/hooks/shaped', { ...quiet, text: 'For nobody.', agentId: 'nobody' })
    const events = await eventsOf(gateway, 'agent:main:main')
    expect(events.filter((text) => text === 'For nobody.')).toHaveLength(1)
  })

  it('shows the session and the agent in a dry run', async () => {
    const gateway = shared()
    await gateway.post('/hooks/later', { text: 'Read this.' })
    const { id } = (await gateway.get('/api/requests?limit=1')).body.items[0]
    const { body } = await gateway.post(
      `/api/requests/${id}/replay`,
      { dryRun: true },
      { authorization: `Bearer ${gatewayToken}` },
    )
    expect(body.actions).toEqual([
      {
        action: 'wake',
        agentId: 'ops',
        sessionKey: 'agent:ops:hook:later',
        text: 'Read this.',
        mode: 'next-heartbeat',
      },
    ])
    expect(body.heartbeat.prompt).toMatch(/2 events since[^]*Read this\.[^]*Read this\./)
  })
})

describe('POST /hooks/wake', () => {
  it('ignores an agent and a session in its body', async () => {
    const gateway = shared()
    const body = {
      text: 'For main.',
      mode: 'next-heartbeat',
      agentId: 'ops',
      sessionKey: 'hook:x',
      operatorKey: 'hook:x',
    }
    expect((await gateway.post('/hooks/wake', body)).status).toBe(200)
    const events = await eventsOf(gateway, 'agent:main:main')
    expect(events.filter((text) => text === 'For main.')).toHaveLength(1)
  })
})
