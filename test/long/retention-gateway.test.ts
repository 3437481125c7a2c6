// Tests the purge of old records, and that pending work is never purged.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, writeConfig } from '../helpers.ts'
import { surviveCrashesWhileForgetting } from '../reliability/crash-scenarios.ts'

const [minute, hour, day] = [60_000, 60 * 60 * 1000, 24 * 60 * 60 * 1000]
const calm = { agents: { defaults: { heartbeat: { every: 0 } } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const wait = { prefer: 'wait=20' }

/** Sets the clock this much later and reloads, which starts a purge. */
async function later(running: RunningGateway, ms: number, changes: Document): Promise<void> {
  vi.setSystemTime(Date.now() + ms)
  writeConfig(running.dir, changes)
  expect(await running.gateway.reload()).toEqual({ restartFor: [] })
}

const itemsOf = async ({ get }: RunningGateway, path: string) =>
  (await get(path)).body.items as { id: string; hook: string }[]
const linesWith = ({ logged }: RunningGateway, message: string) => logged.filter((line) => line.includes(message))
const sizeOf = ({ dir }: RunningGateway) => statSync(join(dir, 'state/gateway.db')).size

async function metricsOf({ url }: RunningGateway): Promise<string> {
  return await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })).text()
}

describe('storage.retention.days', () => {
  // Sets only the clock. Timers run on.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  it('purges old requests and runs, but keeps a waiting wake and its text', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Noted.' })
    const config = { providers: model.providers, agents: { defaults: { heartbeat: { every: 0, model: 'double/m' } } } }
    const running = await startGateway(config)
    const { post, get } = running
    const { runId, sessionKey } = (await post('/hooks/agent', { message: 'long ago', ...quiet }, wait)).body
    await post('/hooks/wake', { text: 'the roof leaks', mode: 'next-heartbeat' })
    const [wake, agent] = await itemsOf(running, '/api/requests')
    await later(running, 29 * day, config)
    await post('/hooks/agent', { message: 'not so long ago', ...quiet }, wait)
    expect(await get(`/runs/${runId}`)).toMatchObject({ status: 200 })

    await later(running, 2 * day, config)
    await expect
      .poll(() => get(`/runs/${runId}`))
      .toMatchObject({ status: 404, body: { error: { type: 'run_not_found' } } })
    expect(await get(`/api/sessions/${sessionKey}`)).toMatchObject({ status: 404 })
    expect(await get(`/api/requests/${agent!.id}`)).toMatchObject({ status: 404 })
    expect(
      await post(`/api/requests/${agent!.id}/replay`, {}, { authorization: `Bearer ${gatewayToken}` }),
    ).toMatchObject({
      status: 404,
      body: { error: { type: 'request_not_found' } },
    })
    expect((await itemsOf(running, '/api/requests')).map(({ hook }) => hook)).toEqual(['agent', 'wake'])
    await expect.poll(() => linesWith(running, '"requests":1')).toHaveLength(1)
    const metrics = await metricsOf(running)
    expect(metrics).toMatch(/^svc_gateway_store_purged_total\{kind="requests"\} 1$/m)
    expect(metrics).toMatch(/^svc_gateway_store_bytes\{state="used"\} [1-9]\d+$/m)

    await post('/hooks/wake', { text: 'look now' })
    expect(await model.prompt(0)).toMatch(/the roof leaks[^]*look now/)
    await expect.poll(async () => (await itemsOf(running, '/api/runs?kind=heartbeat&status=succeeded')).length).toBe(1)
    await later(running, 31 * day, config)
    await expect.poll(() => itemsOf(running, '/api/requests')).toEqual([])
    expect(await get(`/api/requests/${wake!.id}`)).toMatchObject({ status: 404 })
    expect((await get('/api/sessions/main')).body.transcript).not.toEqual([])
  })

  it('0 keeps everything until a reload changes it', async () => {
    const running = await startGateway({ ...calm, storage: { retention: { days: 0 } } })
    const { runId } = (await running.post('/hooks/agent', { message: 'hi', ...quiet }, wait)).body
    await later(running, 1000 * day, { ...calm, storage: { retention: { days: 0 } } })
    await later(running, 0, { ...calm, storage: { retention: { days: 2000 } } })
    expect(await running.get(`/runs/${runId}`)).toMatchObject({ status: 200 })
    await later(running, 0, { ...calm, storage: { retention: { days: 999 } } })
    await expect.poll(() => running.get(`/runs/${runId}`)).toMatchObject({ status: 404 })
  })
})

describe('storage.retention.bodyHours', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())
  const bodyOf = async ({ get }: RunningGateway, id: string) =>
    (await get(`/api/requests/${id}`)).body.body as string | null

  it('purges bodies after three days and keeps the requests', async () => {
    const running = await startGateway(calm)
    const { runId } = (await running.post('/hooks/agent', { message: 'long ago', ...quiet }, wait)).body
    await running.post('/hooks/wake', { text: 'the roof leaks', mode: 'next-heartbeat' })
    const [wake, agent] = await itemsOf(running, '/api/requests')
    await later(running, 71 * hour, calm)
    await running.post('/hooks/agent', { message: 'today', ...quiet }, wait)
    const [young] = await itemsOf(running, '/api/requests')
    await later(running, 2 * hour, calm)
    await expect.poll(() => bodyOf(running, agent!.id)).toBeNull()
    expect(await bodyOf(running, young!.id)).toContain('today')
    expect(await bodyOf(running, wake!.id)).toContain('the roof leaks')
    expect(await running.get(`/runs/${runId}`)).toMatchObject({ status: 200 })
    await expect.poll(() => metricsOf(running)).toMatch(/^svc_gateway_store_purged_total\{kind="bodies"\} 1$/m)
  })

  it('0 keeps bodies as long as their requests', async () => {
    const kept = { ...calm, storage: { retention: { bodyHours: 0 } } }
    const running = await startGateway(kept)
    await running.post('/hooks/agent', { message: 'long ago', ...quiet }, wait)
    const [agent] = await itemsOf(running, '/api/requests')
    await later(running, 29 * day, kept)
    await later(running, 0, { ...calm, storage: { retention: { bodyHours: 1000 } } })
    expect(await bodyOf(running, agent!.id)).toContain('long ago')
    await later(running, 0, { ...calm, storage: { retention: { bodyHours: 600 } } })
    await expect.poll(() => bodyOf(running, agent!.id)).toBeNull()
  })
})

describe('storage.retention.maxMb', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  const capped = { ...calm, storage: { retention: { maxMb: 4 } } }
  const message = 'x'.repeat(200_000)

  it('purges the oldest records after a flood, so that the file shrinks below the limit', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Noted.' })
    const config = { ...capped, providers: model.providers }
    const running = await startGateway(config)
    const runIds: string[] = []
    for (let n = 0; n < 40; n += 1)
      runIds.push((await running.post('/hooks/agent', { message, model: 'double/m', ...quiet }, wait)).body.runId)
    expect(sizeOf(running)).toBeGreaterThan(12 * 1024 * 1024)
    await later(running, 2 * minute, config)
    await expect.poll(() => sizeOf(running)).toBeLessThanOrEqual(4 * 1024 * 1024)
    const found = await Promise.all(runIds.map(async (id) => (await running.get(`/runs/${id}`)).status))
    expect(found).toEqual(found.toSorted((a, b) => b - a))
    expect([found.at(0), found.at(-1)]).toEqual([404, 200])
    expect(linesWith(running, 'is larger than')).toEqual([])
  })

  it('purges nothing that waits, and logs once that the limit cannot be met', async () => {
    const running = await startGateway(capped)
    for (let n = 0; n < 25; n += 1)
      await running.post('/hooks/wake', { text: `${n} ${message}`, mode: 'next-heartbeat' })
    for (let looks = 1; looks <= 2; looks += 1) {
      await running.post('/hooks/wake', { text: 'refused', mode: 'never' })
      await expect.poll(async () => (await itemsOf(running, '/api/requests?status=rejected')).length).toBe(1)
      await later(running, 2 * minute, capped)
      await expect.poll(() => linesWith(running, 'old records were purged')).toHaveLength(looks)
    }
    expect(linesWith(running, 'the store is larger than storage.retention.maxMb')).toHaveLength(1)
    expect(await itemsOf(running, '/api/requests')).toHaveLength(25)
    const { events, waitingEvents } = (await running.get('/api/sessions/main')).body
    expect(waitingEvents).toBe(25)
    expect(events[0].text).toMatch(/^0 x/)
    expect(events.length).toBeLessThan(25)
  })
})

describe('kill -9 during a purge', () => {
  it('loses no acknowledged work, and the next start continues', async () => {
    await surviveCrashesWhileForgetting({ cycles: 3, clients: 4, old: 12_000, maxMb: 16 })
  })
})
