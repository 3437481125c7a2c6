// The wall clock may jump; what waits, runs and is remembered must not suffer.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'
import { ended } from './process.ts'

// Only the clock is set; timers run on.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const [hour, year] = [3_600_000, 365 * 24 * 3_600_000]

it.each([
  ['a year ahead', year],
  ['an hour back', -hour],
])('goes on when the clock jumps %s during a run', async (_what, jump) => {
  const model = await startModel()
  const { post, url } = await startGateway({ providers: model.providers, agents: { defaults: { heartbeat: { model: 'double/m' } } } })
  const run = { message: 'tick', model: 'double/m', deliver: false, timeoutSeconds: 1, wakeMode: 'next-heartbeat' }
  model.script({ hang: true })
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const { body } = await post('/hooks/agent', run)
  await model.request(0)
  vi.setSystemTime(Date.now() + jump)
  // Its limit is a length of time, not a time of day.
  expect((await ended(url, body.runId)).status).toBe('timed_out')
  await post('/hooks/wake', { text: 'after the jump' })
  expect(await model.prompt(1)).toMatch(/Hook \(failed\)[^]*after the jump/)
  vi.setSystemTime(Date.now() - jump)
  expect((await post('/hooks/agent', { ...run, model: undefined }, { prefer: 'wait=20' })).body.status).toBe('succeeded')
})

it('remembers an Idempotency-Key when the clock goes back', async () => {
  const { post } = await startGateway()
  const key = { 'idempotency-key': 'k' }
  const first = await post('/hooks/wake', { text: 'once' }, key)
  vi.setSystemTime(Date.now() - hour)
  expect((await post('/hooks/wake', { text: 'once' }, key)).body).toEqual(first.body)
})
