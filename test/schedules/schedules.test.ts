// Tests schedules: when they fire, what they leave behind, restarts and limits.
import { describe, expect, it } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { createTestContext } from '../contracts.ts'
import { newSchedule } from '../contracts/store-samples.ts'
import { gatewayToken, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools } from '../tools/calls.ts'

const to = { channel: 'chat-native', to: 'ann' }
const add = { action: 'add', message: 'Water the plants.', ...to }

describe('cron', () => {
  /** Tests that look at all schedules of an agent have one of their own. */
  const shared = share(() =>
    startTools({
      agents: { defaults: { heartbeat: { every: 0 } }, main: {}, early: {}, late: {}, none: {}, full: {} },
    }),
  )

  it('fires once at a given time, delivers the reply and is removed', async () => {
    const { result, sent, chat } = shared()
    const at = new Date(Date.now() + 1_500).toISOString()
    const { id, nextAt } = await result('cron', { ...add, message: 'Once.', at, name: 'plants' }, 'agent:late:main')
    expect([id, nextAt]).toEqual([expect.any(String), at])
    expect(await sent('Once.')).toMatchObject({ to: 'ann' })
    expect(await result('cron', { action: 'list' }, 'agent:late:main')).toEqual({ items: [] })
    expect(chat.held.filter(({ text }) => text.includes('Once.'))).toHaveLength(1)
  })

  it('runs in a session of its own, with a record of its own', async () => {
    const { result, get } = shared()
    const { id } = await result('cron', { ...add, every: '1h', name: 'plants' })
    const { runId, sessionKey } = await result('cron', { action: 'run', id })
    expect(sessionKey).toBe(`agent:main:schedule:${id}`)
    await expect
      .poll(async () => (await get(`/runs/${runId}`)).body)
      .toMatchObject({
        kind: 'schedule',
        status: 'succeeded',
        name: 'plants',
        origin: { kind: 'schedule', name: 'plants' },
        deliveries: [{ channel: 'chat-native', to: 'ann' }],
      })
  })

  it('can be added by an agent, and delivers to the conversation that asked', async () => {
    const { askAgent, sent } = await startTools()
    expect(await askAgent('/cron {"action":"add","message":"Think of the milk.","at":"1s"}')).toContain('nextAt')
    expect(await sent('Received: Think of the milk.')).toMatchObject({ to: 'ann' })
  })

  it('delivers to the channel in the header of the client that adds it', async () => {
    const { post, chat } = await startTools({ channels: { console: { defaultTo: 'desk' } } })
    const args = { action: 'add', message: 'Think of the milk.', at: '1h' }
    const headers = { authorization: `Bearer ${gatewayToken}`, 'x-svc-message-channel': 'console' }
    expect((await post('/tools/invoke', { tool: 'cron', args }, headers)).status).toBe(200)
    const other = { ...headers, 'x-svc-message-channel': 'chat-native' }
    expect(await post('/tools/invoke', { tool: 'cron', args }, other)).toMatchObject(
      refused(expect.stringContaining('"chat-native" is not configured')),
    )
    expect(chat.held).toEqual([])
  })

  it('is visible only to its own agent', async () => {
    const { result, call } = shared()
    const [own, other] = ['agent:early:main', 'agent:late:main']
    const weekdays = { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' }
    const { id } = await result('cron', { ...add, ...weekdays, name: 'weekdays' }, own)
    expect(await result('cron', { action: 'list' }, own)).toMatchObject({
      items: [{ id, name: 'weekdays', message: 'Water the plants.', timing: weekdays }],
    })
    expect(await result('cron', { action: 'list' }, other)).toEqual({ items: [] })
    const unknown = refused('There is no schedule with this id; list shows the schedules.')
    for (const action of ['remove', 'run']) expect(await call('cron', { action, id }, other)).toMatchObject(unknown)
    expect(await result('cron', { action: 'remove', id }, own)).toEqual({ removed: id })
    expect(await call('cron', { action: 'remove', id }, own)).toMatchObject(unknown)
  })

  it.each([
    [{ cron: 'every day' }, /cron must be five fields/],
    [{ cron: '* * * * * *' }, /cron must be five fields/],
    [{ cron: '0 0 30 2 *' }, /never fires/],
    [{ cron: '0 9 * * *', timezone: 'Mars/Base' }, /timezone an IANA name/],
    [{ every: '1s' }, /every must be a duration of 10 seconds/],
    [{ every: '400d' }, /every must be a duration/],
    [{ at: '2020-01-01T00:00:00Z' }, /at is in the past/],
    [{ at: '2030-01-01T00:00:00' }, /at must be a time with a zone/],
    [{ at: 'tomorrow' }, /at must be a time with a zone/],
    [{}, /requires exactly one of cron, every and at/],
    [{ cron: '0 9 * * *', every: '1h' }, /requires exactly one of/],
    [{ every: '1h', timezone: 'Europe/Berlin' }, /timezone is allowed only with cron/],
    [{ every: '1h', channel: 'pigeon' }, /No plugin provides the channel "pigeon"/],
    [{ every: '1h', message: undefined }, /message is required/],
  ])('refuses %o', async (args, sentence) => {
    const { call, result } = shared()
    const answer = await call('cron', { ...add, ...args }, 'agent:none:main')
    expect(answer).toMatchObject(refused(expect.stringMatching(sentence)))
    expect(await result('cron', { action: 'list' }, 'agent:none:main')).toEqual({ items: [] })
  })

  it('refuses more than 100 schedules of one agent', async () => {
    const { result, call } = shared()
    for (let n = 0; n < 100; n++) await result('cron', { ...add, every: '1h' }, 'agent:full:main')
    expect(await call('cron', { ...add, every: '1h' }, 'agent:full:main')).toMatchObject(
      refused('The agent already has 100 schedules, which is the limit; remove one.'),
    )
  })

  it('is not available to webhook runs', async () => {
    const { hook, result } = shared()
    const message = '/cron {"action":"add","message":"x","every":"1h","channel":"chat-native","to":"eve"}'
    expect((await hook(message, { agentId: 'none' })).body.sessionKey).toMatch(/^agent:none:/)
    expect(await result('cron', { action: 'list' }, 'agent:none:main')).toEqual({ items: [] })
  })
})

describe('a schedule', () => {
  it('survives a restart, and fires once for all missed times', async () => {
    const dir = temporaryFolder()
    const first = await startTools({}, dir)
    const { id } = await first.result('cron', { ...add, every: '1h', name: 'hourly' })
    await first.gateway.close()
    await rewind(dir, 5 * 60 * 60 * 1000)
    const second = await startTools({}, dir)
    await second.chat.holds(1)
    const { items } = await second.result('cron', { action: 'list' })
    expect(items).toMatchObject([{ id, lastAt: expect.any(String) }])
    expect(Date.parse(items[0].nextAt)).toBeGreaterThan(Date.now())
    const runs = (await second.get('/api/runs?kind=schedule')).body.items.filter(
      ({ kind }: { kind: string }) => kind === 'schedule',
    )
    expect(runs).toHaveLength(1)
  })

  it('does not fire while its last run is active; with a single time, it waits and is not lost', async () => {
    const dir = temporaryFolder()
    const first = await startTools({}, dir)
    const repeated = await first.result('cron', { ...add, every: '1h', message: 'Feed the cat.' })
    const single = await first.result('cron', { ...add, at: '4h' })
    await first.gateway.close()
    await rewind(dir, 5 * 60 * 60 * 1000, { withActiveRuns: true })
    const second = await startTools({}, dir)
    const skipped = () => second.logged.filter((line) => line.includes('its last run has not ended'))
    await expect.poll(skipped).toEqual([expect.stringContaining(repeated.id)])
    expect(await second.sent('Water the plants.')).toMatchObject({ to: 'ann' })
    const { items } = await second.result('cron', { action: 'list' })
    expect(items).toMatchObject([{ id: repeated.id }])
    expect(Date.parse(items[0].nextAt)).toBeGreaterThan(Date.now())
    expect(skipped().join()).not.toContain(single.id)
  })

  it('posts a run summary in the main session when its run failed', async () => {
    const agents = { defaults: { heartbeat: { every: 0 }, model: 'house/none', retry: { forSeconds: 0 } } }
    const { result, get, chat } = await startTools({
      agents,
      providers: { house: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' } },
    })
    await chat.say({ text: 'Hi.' })
    await chat.holds(1)
    const { id } = await result('cron', { ...add, every: '1h', name: 'plants', timeoutSeconds: 0.5 })
    const { runId } = await result('cron', { action: 'run', id })
    await expect
      .poll(async () => (await get(`/runs/${runId}`)).body.status, { timeout: 10_000 })
      .toMatch(/failed|timed_out/)
    expect((await result('session_status')).waitingEvents).toBe(1)
  })
})

/** Moves every schedule `ms` milliseconds into the past. */
async function rewind(dir: string, ms: number, { withActiveRuns = false } = {}): Promise<void> {
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: createTestContext().log })
  for (const schedule of await store.listAgentSchedules('main')) {
    await store.removeSchedule(schedule.id, 'main')
    const timing =
      schedule.timing.kind === 'at' ? { kind: 'at' as const, at: schedule.timing.at - ms } : schedule.timing
    await store.addSchedule(newSchedule({ ...schedule, timing, nextAt: schedule.nextAt - ms }), {
      at: schedule.createdAt,
      most: 100,
    })
    if (!withActiveRuns) continue
    const run = {
      id: `busy:${schedule.id}`,
      kind: 'schedule',
      agentId: 'main',
      sessionKey: `agent:main:schedule:${schedule.id}`,
      spec: { ...schedule.spec, message: '/exec {}' },
      maxAttempts: 2,
    } as const
    await store.accept({ at: Date.now(), runs: [run] })
    await store.claimRuns({ owner: 'another process', max: 1, at: Date.now(), leaseMs: 60_000 })
  }
  await store.close()
}
