// Tests how the next start handles what a crash leaves behind.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { type Document, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { ended, post, start } from './process.ts'

const onModel = (model: ModelServer, agent: Document = {}): Document => ({
  providers: model.providers,
  agents: { defaults: { model: 'double/m', ...agent } },
})

/** Returns the first prompt, from this number on, that contains the text. */
async function promptWith(model: ModelServer, text: string, from = 0): Promise<string> {
  const prompt = await model.prompt(from)
  return prompt.includes(text) ? prompt : await promptWith(model, text, from + 1)
}

describe('a run during which the process dies', () => {
  it('is tried agents.defaults.maxAttempts times, then fails with a summary, while other runs continue', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ hang: true }, { hang: true })
    const first = await start(dir, onModel(model))
    const { body } = await post(first.url, [
      'agent',
      { name: 'Poison', message: 'kills whoever reads it', deliver: false },
    ])
    await model.request(0)
    await first.end('SIGKILL')
    const second = await start(dir, { ...onModel(model), log: { level: 'info' } })
    await model.request(1)
    await second.end('SIGKILL')
    expect(second.log.join('\n')).toContain('took up 1 run after a crash')
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const third = await startGateway(onModel(model), dir)
    expect(await ended(third.url, body.runId)).toMatchObject({ status: 'failed', error: { type: 'interrupted' } })
    expect(await promptWith(model, 'Hook Poison (failed):', 2)).toContain('2 times in a row')
    const other = await third.post('/hooks/agent', { message: 'harmless', deliver: false }, { prefer: 'wait=20' })
    expect(other.body.status).toBe('succeeded')
  })

  it.each([1, 2])('is not tried again if it was cancelled, with maxAttempts: %i', async (maxAttempts) => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ hang: true })
    model.otherwise({ text: 'Done.' })
    const changes = onModel(model, { heartbeat: { every: '0' }, maxAttempts })
    const before = await start(dir, changes)
    const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
    const { body } = await post(before.url, ['agent', { message: 'Delete everything.', ...quiet }])
    await model.request(0)
    await before.end('SIGKILL')
    // The process died between the cancellation and the end of the run.
    const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: silent })
    expect(await store.cancelRunningRun(body.runId, { at: Date.now() })).toBe(true)
    await store.close()
    const after = await startGateway(changes, dir)
    expect(await ended(after.url, body.runId)).toMatchObject({ status: 'cancelled' })
    await after.post('/hooks/agent', { message: 'Something else.', ...quiet }, { prefer: 'wait=20' })
    expect(model.requests).toHaveLength(2)
    expect(await model.prompt(1)).toContain('Something else.')
  })

  it('leaves its claimed events to the next run', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ hang: true }, { text: 'HEARTBEAT_OK' })
    const before = await start(dir, onModel(model))
    await post(before.url, ['wake', { text: 'the roof leaks' }])
    expect(await model.prompt(0)).toContain('the roof leaks')
    await before.end('SIGKILL')
    await startGateway(onModel(model), dir)
    expect(await model.prompt(1)).toContain('the roof leaks')
  })
})

describe('a crash right after two runs', () => {
  it('loses no summary, delivers a reply exactly once, an acknowledgement never, and keeps the key', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const agents = { defaults: { heartbeat: { model: 'double/m' } }, main: {}, quiet: { model: 'double/m' } }
    const changes = { providers: model.providers, agents }
    const quiet = { name: 'Quiet', message: 'anything new?', agentId: 'quiet', channel: 'console' }
    const once: Parameters<typeof post>[1] = [
      'agent',
      { message: 'only once', channel: 'console' },
      { 'idempotency-key': 'k' },
    ]
    const before = await start(dir, changes)
    const [first, acknowledged] = await Promise.all([post(before.url, once), post(before.url, ['agent', quiet])])
    await Promise.all([first, acknowledged].map(({ body }) => ended(before.url, body.runId)))
    await before.end('SIGKILL')

    const after = await startGateway(changes, dir)
    expect(await ended(after.url, acknowledged.body.runId)).toMatchObject({
      status: 'succeeded',
      deliveries: [{ status: 'skipped' }],
    })
    expect(await promptWith(model, 'Hook Quiet:')).toContain('HEARTBEAT_OK')
    const second = await post(after.url, once)
    expect([second.body, second.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
    const another = await after.post('/hooks/agent', { message: 'another', channel: 'console' }, { prefer: 'wait=20' })
    const deliveries = async () => (await after.get(`/runs/${another.body.runId}`)).body.deliveries
    await expect.poll(deliveries).toMatchObject([{ status: 'sent' }])
    await after.gateway.close()
    const lines = readFileSync(join(dir, 'console.jsonl'), 'utf8').trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { key: string }).key)).toEqual([
      `${first.body.runId}:0:0`,
      `${another.body.runId}:0:0`,
    ])
  })
})

describe('a second process on the same folder', () => {
  it('is refused with the owner of the store, while the first one continues', async () => {
    const dir = temporaryFolder()
    const first = await startGateway({}, dir)
    const refusal = await spawnGateway(writeConfig(dir)).catch((error: Error) => error)
    expect(refusal).toMatchObject({
      message: expect.stringMatching(new RegExp(`ended with 1:[^]*in use by process ${process.pid}\\b`)),
    })
    expect((await first.post('/hooks/wake', { text: 'still here' })).status).toBe(200)
  })
})
