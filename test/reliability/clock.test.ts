// Tests that jumps of the wall clock do not affect waiting, running and remembered work.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { startTools, type ToolGateway } from '../tools/calls.ts'
import { ended } from './process.ts'

// Sets only the clock. Timers run on.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const [hour, year] = [3_600_000, 365 * 24 * 3_600_000]

it.each([
  ['a year ahead', year],
  ['an hour back', -hour],
])('continues a run when the clock jumps %s', async (_what, jump) => {
  const model = await startModel()
  const { post, url } = await startGateway({
    providers: model.providers,
    agents: { defaults: { heartbeat: { model: 'double/m' }, retry: { forSeconds: 0 } } },
  })
  const run = { message: 'tick', model: 'double/m', deliver: false, timeoutSeconds: 1, wakeMode: 'next-heartbeat' }
  model.script({ hang: true })
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const { body } = await post('/hooks/agent', run)
  await model.request(0)
  vi.setSystemTime(Date.now() + jump)
  // The time limit of a run is a duration, not a time of day.
  expect((await ended(url, body.runId)).status).toBe('timed_out')
  await post('/hooks/wake', { text: 'after the jump' })
  expect(await model.prompt(1)).toMatch(/Hook \(failed\)[^]*after the jump/)
  vi.setSystemTime(Date.now() - jump)
  expect((await post('/hooks/agent', { ...run, model: undefined }, { prefer: 'wait=20' })).body.status).toBe(
    'succeeded',
  )
})

it('remembers an Idempotency-Key when the clock is set back', async () => {
  const { post } = await startGateway()
  const key = { 'idempotency-key': 'k' }
  const first = await post('/hooks/wake', { text: 'once' }, key)
  vi.setSystemTime(Date.now() - hour)
  expect((await post('/hooks/wake', { text: 'once' }, key)).body).toEqual(first.body)
})

it('a delivery that waits for its next attempt, and what is behind it, do not wait for a clock that is set back', async () => {
  const running = await startTools()
  const send = (text: string) => running.result('message', { channel: 'chat-native', to: 'ann', text })
  running.chat.script({ answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } })
  await send('first')
  await expect.poll(() => running.chat.attempts.length).toBe(1)
  await send('second')
  vi.setSystemTime(Date.now() - hour)
  await expect.poll(() => running.logged.join()).toContain('the clock was set back')
  vi.setSystemTime(Date.now() + 60_000)
  await running.sent('second')
  expect(running.chat.held.map(({ text }) => text)).toEqual(['first', 'second'])
})

describe('a schedule', () => {
  const day = 24 * hour
  const to = { message: 'Water the plants.', channel: 'chat-native', to: 'ann' }
  const nextOf = async ({ result }: Pick<ToolGateway, 'result'>, name: string): Promise<number> => {
    const { items } = await result('cron', { action: 'list' })
    return Date.parse(items.find((item: { name: string }) => item.name === name).nextAt) - Date.now()
  }
  const addAll = async ({ result }: Pick<ToolGateway, 'result'>): Promise<void> => {
    await result('cron', { action: 'add', ...to, name: 'minutely', cron: '* * * * *' })
    await result('cron', { action: 'add', ...to, name: 'hourly', every: '1h' })
    await result('cron', { action: 'add', ...to, name: 'once', at: '2h' })
  }

  it('continues at the times of the new clock when the clock is set back by a day', async () => {
    const running = await startTools()
    await addAll(running)
    vi.setSystemTime(Date.now() - day)
    // Adding a schedule makes the gateway recompute the times.
    await running.result('cron', { action: 'add', ...to, name: 'other', every: '24d' })
    await expect.poll(() => nextOf(running, 'minutely')).toBeLessThanOrEqual(60_000)
    expect(await nextOf(running, 'hourly')).toBeLessThanOrEqual(hour)
    // A requested time of day stays that time of day.
    expect(await nextOf(running, 'once')).toBeGreaterThan(day + hour)
  })

  it('continues after a restart with the clock set back by a year', async () => {
    const dir = temporaryFolder()
    const first = await startTools({}, dir)
    await addAll(first)
    await first.gateway.close()
    vi.setSystemTime(Date.now() - year)
    const second = await startTools({}, dir)
    await expect.poll(() => nextOf(second, 'minutely')).toBeLessThanOrEqual(60_000)
    expect(await nextOf(second, 'hourly')).toBeLessThanOrEqual(hour)
  })

  it('fires once when the clock is set forward by a day, then at its regular times', async () => {
    const running = await startTools()
    await running.result('cron', { action: 'add', ...to, name: 'hourly', every: '1h' })
    vi.setSystemTime(Date.now() + day)
    await running.result('cron', { action: 'add', ...to, name: 'other', every: '24d' })
    await running.sent('Water the plants.')
    expect(await nextOf(running, 'hourly')).toBeLessThanOrEqual(hour)
    // A message may be sent in parts.
    expect(running.chat.held.filter(({ key }) => key.endsWith(':0'))).toHaveLength(1)
  })

  it('does not fire twice for a time of day that a small clock correction repeats', async () => {
    const running = await startTools()
    await running.result('cron', {
      action: 'add',
      ...to,
      name: 'daily',
      cron: new Date(Date.now() + 60_000).toISOString().replace(/.*T(\d\d):(\d\d).*/, '$2 $1 * * *'),
      timezone: 'UTC',
    })
    vi.setSystemTime(Math.ceil(Date.now() / 60_000) * 60_000 + 60_000)
    await running.result('cron', { action: 'add', ...to, name: 'other', every: '24d' })
    await running.sent('Water the plants.')
    vi.setSystemTime(Date.now() - 5 * 60_000)
    await running.result('cron', { action: 'add', ...to, name: 'another', every: '24d' })
    await expect.poll(() => nextOf(running, 'another')).toBeLessThanOrEqual(24 * day)
    expect(await nextOf(running, 'daily')).toBeGreaterThan(hour)
  })
})
