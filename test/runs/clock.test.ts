// Tests runs while the clock of the machine is set back.
import { expect, it, onTestFinished, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, startGateway } from '../helpers.ts'

it('no time of a run is negative after the clock was set back', async () => {
  const model = await startModel()
  const { url, post, get, logged } = await startGateway({
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    hooks: { defaultSessionKey: 'hook:all' },
  })
  const authorization = { authorization: `Bearer ${gatewayToken}` }
  const message = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
  // Only the clock is set; timers run on.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
  model.script({ hang: true }, { text: 'Done.' })
  const [first, second] = [await post('/hooks/agent', message), await post('/hooks/agent', message)]
  await model.request(0)
  vi.useRealTimers()
  expect((await post(`/api/runs/${first.body.runId}/cancel`, {}, authorization)).status).toBe(200)
  await expect
    .poll(async () => (await get(`/runs/${second.body.runId}`)).body)
    .toMatchObject({
      status: 'succeeded',
      queuedMs: 0,
    })
  const metrics = await (await fetch(`${url}/metrics`, { headers: authorization })).text()
  expect(metrics).toMatch(/^svc_gateway_run_queued_seconds_sum 0(\.\d+)?$/m)
  expect(metrics).not.toMatch(/ -\d/)
  const ends = logged.map((line) => JSON.parse(line)).filter(({ runId, ms }) => runId && ms !== undefined)
  expect(ends).toMatchObject([{ runId: first.body.runId, status: 'cancelled', ms: 0 }, { status: 'succeeded' }])
})
