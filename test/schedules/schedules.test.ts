// Work that begins by itself: at its times, once for each, across restarts, within its bounds.
import { describe, expect, it } from 'vitest'
import { computeNextFiring, parseTiming } from '../../core/runs/timing.ts'
import { createSqliteStore } from '../../core/store/sqlite/sqlite.ts'
import { join } from 'node:path'
import { createTestContext } from '../contracts.ts'
import { newSchedule } from '../contracts/store-samples.ts'
import { temporaryFolder } from '../helpers.ts'
import { refused, startTools } from '../tools/calls.ts'

const to = { channel: 'chat-native', to: 'ann' }
const add = { action: 'add', message: 'Water the plants.', ...to }

describe('cron', () => {
  it('fires once at a time, delivers, and is gone', async () => {
    const { result, chat } = await startTools()
    const at = new Date(Date.now() + 400).toISOString()
    const { id, nextAt } = await result('cron', { ...add, at, name: 'plants' })
    expect([id, nextAt]).toEqual([expect.any(String), at])
    const [sent] = await chat.holds(1)
    expect(sent).toMatchObject({ to: 'ann', text: expect.stringContaining('Water the plants.') })
    expect(await result('cron', { action: 'list' })).toEqual({ items: [] })
  })

  it('runs as what it is: a record of its own, in a session of its own', async () => {
    const { result, get } = await startTools()
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

  it('is added by an agent, and answers where it was asked', async () => {
    const { askAgent, sent } = await startTools()
    expect(await askAgent('/cron {"action":"add","message":"Think of the milk.","at":"1s"}')).toContain('nextAt')
    expect(await sent('Received: Think of the milk.')).toMatchObject({ to: 'ann' })
  })

  it('is listed, removed, and asked about by its agent alone', async () => {
    const { result, call } = await startTools({
      agents: { defaults: { heartbeat: { every: 0 } }, main: {}, other: {} },
    })
    const { id } = await result('cron', { ...add, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', name: 'weekdays' })
    expect(await result('cron', { action: 'list' })).toMatchObject({
      items: [
        {
          id,
          name: 'weekdays',
          message: 'Water the plants.',
          timing: { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' },
        },
      ],
    })
    expect(await result('cron', { action: 'list' }, 'agent:other:main')).toEqual({ items: [] })
    const unknown = refused('There is no schedule with this id; list shows the schedules.')
    for (const action of ['remove', 'run'])
      expect(await call('cron', { action, id }, 'agent:other:main')).toMatchObject(unknown)
    expect(await result('cron', { action: 'remove', id })).toEqual({ removed: id })
    expect(await call('cron', { action: 'remove', id })).toMatchObject(unknown)
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
    [{}, /Exactly one of cron, every and at/],
    [{ cron: '0 9 * * *', every: '1h' }, /Exactly one of/],
    [{ every: '1h', timezone: 'Europe/Berlin' }, /timezone goes with cron alone/],
    [{ every: '1h', channel: 'pigeon' }, /No plugin provides the channel "pigeon"/],
    [{ every: '1h', message: undefined }, /message is required/],
  ])('refuses %o', async (args, sentence) => {
    const { call, result } = await startTools()
    expect(await call('cron', { ...add, ...args })).toMatchObject(refused(expect.stringMatching(sentence)))
    expect(await result('cron', { action: 'list' })).toEqual({ items: [] })
  })

  it('has an end: an agent may have so many, and no more', async () => {
    const { result, call } = await startTools()
    for (let n = 0; n < 100; n++) await result('cron', { ...add, every: '1h' })
    expect(await call('cron', { ...add, every: '1h' })).toMatchObject(
      refused('The agent already has 100 schedules, which is the limit; remove one.'),
    )
  })

  it('is kept from webhooks', async () => {
    const { hook, result } = await startTools()
    await hook('/cron {"action":"add","message":"x","every":"1h","channel":"chat-native","to":"eve"}')
    expect(await result('cron', { action: 'list' })).toEqual({ items: [] })
  })
})

describe('a schedule', () => {
  it('survives a restart, and fires once for all times that it missed', async () => {
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

  it('is not begun again while its last run goes on', async () => {
    const dir = temporaryFolder()
    const first = await startTools({}, dir)
    const { id } = await first.result('cron', { ...add, every: '1h' })
    await first.gateway.close()
    await rewind(dir, 5 * 60 * 60 * 1000, id)
    const second = await startTools({}, dir)
    await expect.poll(() => second.logged.some((line) => line.includes('its last run has not ended'))).toBe(true)
    const { items } = await second.result('cron', { action: 'list' })
    expect(Date.parse(items[0].nextAt)).toBeGreaterThan(Date.now())
  })

  it('of one time that comes while its session is busy waits for its turn, and is not lost', async () => {
    const dir = temporaryFolder()
    const first = await startTools({}, dir)
    const { id } = await first.result('cron', { ...add, at: '4h' })
    await first.gateway.close()
    await rewind(dir, 5 * 60 * 60 * 1000, id)
    const second = await startTools({}, dir)
    expect(await second.sent('Water the plants.')).toMatchObject({ to: 'ann' })
    expect(await second.result('cron', { action: 'list' })).toEqual({ items: [] })
  })

  it('tells the main session when its run failed', async () => {
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

/** Makes every schedule due for so long already; with `id`, a run of that one is under way as well. */
async function rewind(dir: string, ms: number, id?: string): Promise<void> {
  const store = await createSqliteStore({
    path: join(dir, 'state', 'gateway.db'),
    log: createTestContext().log,
    onCommit: () => undefined,
  })
  for (const schedule of await store.listAgentSchedules('main')) {
    await store.removeSchedule(schedule.id, 'main')
    const timing =
      schedule.timing.kind === 'at' ? { kind: 'at' as const, at: schedule.timing.at - ms } : schedule.timing
    await store.addSchedule(newSchedule({ ...schedule, timing, nextAt: schedule.nextAt - ms }), {
      at: schedule.createdAt,
      most: 100,
    })
    if (id === undefined) continue
    const run = {
      id: 'busy',
      kind: 'schedule',
      agentId: 'main',
      sessionKey: `agent:main:schedule:${id}`,
      spec: { ...schedule.spec, message: '/exec {}' },
      maxAttempts: 2,
    } as const
    await store.accept({ at: Date.now(), runs: [run] })
    await store.claimRuns({ owner: 'another process', max: 1, at: Date.now(), leaseMs: 60_000 })
  }
  await store.close()
}

describe('the next firing', () => {
  const berlin = { kind: 'cron', expression: '30 2 * * *', timezone: 'Europe/Berlin' } as const
  const next = async (timing: Parameters<typeof computeNextFiring>[0], from: string) => {
    const now = Date.parse(from)
    return new Date((await computeNextFiring(timing, { due: now, now }))!).toISOString()
  }

  it('follows the clock of its zone over the change of the hour', async () => {
    expect(await next(berlin, '2026-03-28T00:00:00Z')).toBe('2026-03-28T01:30:00.000Z')
    expect(await next(berlin, '2026-03-30T00:00:00Z')).toBe('2026-03-30T00:30:00.000Z')
    expect(await next(berlin, '2026-10-25T23:00:00Z')).toBe('2026-10-26T01:30:00.000Z')
  })

  it('of a time between does not drift, whenever it is asked', async () => {
    const hourly = { kind: 'every', ms: 3_600_000 } as const
    expect(await computeNextFiring(hourly, { due: 1000, now: 1001 })).toBe(3_601_000)
    expect(await computeNextFiring(hourly, { due: 1000, now: 3_601_000 })).toBe(7_201_000)
    expect(await computeNextFiring(hourly, { due: 1000, now: 0 })).toBe(3_601_000)
  })

  it('of a time that came is none', async () => {
    expect(await computeNextFiring({ kind: 'at', at: 1000 }, { due: 1000, now: 5000 })).toBeUndefined()
    expect(parseTiming({ at: '1m30s' }, 1000)).toEqual({ kind: 'at', at: 91_000 })
  })
})
