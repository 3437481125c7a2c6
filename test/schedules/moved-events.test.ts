// Events whose agent is renamed or removed, or whose main session is another one now.
import { describe, expect, it } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { type Document, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'

/** An hour that is two hours away, so that heartbeats wait. */
const later = (hours: number): string => `${String((new Date().getUTCHours() + hours) % 24).padStart(2, '0')}:00`
const asleep = { every: 0, activeHours: { start: later(2), end: later(3), timezone: 'UTC' } }
const awake = { every: 0 }

const configure = (
  model: ModelServer,
  heartbeat: Document,
  { agents = {}, ...rest }: { agents?: Document } & Document,
) => ({
  providers: model.providers,
  agents: { defaults: { model: 'double/m', heartbeat }, ...agents },
  ...rest,
})

const mappings = [{ match: { path: 'ops' }, action: 'wake', agentId: 'ops', textTemplate: '{{ text }}' }]

interface Change {
  hook?: string
  before: Document
  after: Document
}

const changes: Record<string, Change> = {
  'whose default agent is renamed': { before: { agents: { one: {} } }, after: { agents: { two: {} } } },
  'whose session.mainKey is renamed': { before: {}, after: { session: { mainKey: 'home' } } },
  'whose session.scope changes': { before: {}, after: { session: { scope: 'global' } } },
  'for a mapped agent that is removed': {
    hook: '/hooks/ops',
    before: { agents: { main: { default: true }, ops: {} }, hooks: { mappings } },
    after: { agents: { main: { default: true } } },
  },
}

describe('a wake', () => {
  it.each(Object.keys(changes))('%s wakes the default agent after a reload', async (what) => {
    const { hook = '/hooks/wake', before, after } = changes[what]!
    const model = await startModel()
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const { post, gateway, dir, logged } = await startGateway(configure(model, asleep, before))
    expect((await post(hook, { text: 'The house is on fire.' })).status).toBe(200)
    writeConfig(dir, configure(model, awake, after))
    await gateway.reload()
    expect(await model.prompt(0)).toContain('The house is on fire.')
    expect(logged.filter((line) => line.includes('waiting events were moved'))).toHaveLength(1)
  })

  it('whose default agent is renamed while the gateway is down wakes the default agent at the start', async () => {
    const { before, after } = changes['whose default agent is renamed']!
    const [model, dir] = [await startModel(), temporaryFolder()]
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const first = await startGateway(configure(model, asleep, before), dir)
    await first.post('/hooks/wake', { text: 'The house is on fire.' })
    await first.gateway.close()
    await startGateway(configure(model, awake, after), dir)
    expect(await model.prompt(0)).toContain('The house is on fire.')
  })
})
