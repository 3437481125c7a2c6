// Wakes whose events were claimed by another run of the main session, which failed. On SQLite, without periodic heartbeats.
import { describe, expect, it } from 'vitest'
import { messagesOf, type ModelServer, startModel } from '../doubles/model.ts'
import { startGateway, temporaryFolder, writeConfig } from '../helpers.ts'

const config = (model: ModelServer) => ({
  providers: model.providers,
  gateway: { drainSeconds: 0 },
  agents: { defaults: { model: 'double/m', heartbeat: { every: 0 }, retry: { forSeconds: 0 } } },
  hooks: { allowRequestSessionKey: true },
})

/** Waits until a request to the model from this number on shows the event. */
const shown = async (model: ModelServer, text: string, from: number) =>
  await expect
    .poll(() => model.requests.slice(from).some((request) => JSON.stringify(messagesOf(request)).includes(text)))
    .toBe(true)

describe.concurrent('a wake is served', () => {
  it('although a run of the main session has claimed its event and failed', async () => {
    const model = await startModel()
    const { post, get } = await startGateway(config(model))
    // The first two requests to the model get no answer within the time of their runs; all others work.
    model.script({ hang: true }, { hang: true })
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const ask = async () =>
      await post('/hooks/agent', {
        message: 'Hello.',
        sessionKey: 'main',
        timeoutSeconds: 1,
        deliver: false,
        wakeMode: 'next-heartbeat',
      })
    await ask()
    await model.request(0)
    // Both wait for the session; the run was first.
    const asked = await ask()
    await post('/hooks/wake', { text: 'The house is on fire.' })
    await expect.poll(async () => (await get(`/runs/${asked.body.runId}`)).body.status).toBe('timed_out')
    expect(JSON.stringify(messagesOf(model.requests[1]!))).toContain('on fire')
    await shown(model, 'on fire', 2)
  })

  it('although the configuration was reloaded during its heartbeat, which then failed', async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    const { post, gateway } = await startGateway(config(model), dir)
    model.script({ hang: true })
    model.otherwise({ text: 'HEARTBEAT_OK' })
    await post('/hooks/wake', { text: 'The house is on fire.' })
    await model.request(0)
    writeConfig(dir, {
      ...config(model),
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 }, maxSteps: 7 } },
    })
    await gateway.reload()
    // The heartbeat of the old configuration fails.
    model.tear()
    await shown(model, 'on fire', 1)
  })
})
