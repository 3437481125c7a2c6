// Budgets over time: runs that wait for the next window, alerts, reloads, restarts, and a clock that is set.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startGatewayOn } from '../helpers.ts'
import { callUsd, mapping, type PricedGateway, startPriced } from './gateway.ts'
import { createRandom, seed } from '../config/random.ts'

const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000]
const noon = Date.UTC(2026, 9, 24, 12)

// Sets only the clock. Timers run on.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: noon }))
afterEach(() => void vi.useRealTimers())

const reply = { text: 'Done.' }
const statusOf = async ({ get }: PricedGateway, id: string) => (await get(`/runs/${id}`)).body

describe('a webhook with onLimit: wait', () => {
  const budget = [{ per: '1h', runs: 2, onLimit: 'wait' }]
  const waiting = { mappings: [mapping('wait', { budget, concurrency: 1 }), mapping('other')] }

  async function fill(gateway: PricedGateway, count: number): Promise<string[]> {
    const ids: string[] = []
    for (let n = 1; n <= count; n++) {
      const { status, body } = await gateway.post('/hooks/wait', { n })
      expect(status).toBe(200)
      ids.push(body.runId)
    }
    return ids
  }

  it('is accepted, holds no slot, and runs in order in the next windows', async () => {
    const gateway = await startPriced({ hooks: waiting, agents: { defaults: { maxConcurrent: 1 } } })
    const { model, hook } = gateway
    model.otherwise(reply)
    const ids = await fill(gateway, 5)
    await expect.poll(async () => (await statusOf(gateway, ids[1]!)).status).toBe('succeeded')
    expect(await statusOf(gateway, ids[2]!)).toMatchObject({
      status: 'queued',
      waitingFor: 'hooks.mappings[0].budget[0]',
      nextAttemptAt: new Date(noon + hour).toISOString(),
    })
    expect((await hook('other')).body.status).toBe('succeeded')
    for (const last of [3, 4]) {
      vi.setSystemTime(Date.now() + hour)
      await expect.poll(async () => (await statusOf(gateway, ids[last]!)).status, { timeout: 8000 }).toBe('succeeded')
    }
    const prompts = await Promise.all(model.requests.map((_, index) => model.prompt(index)))
    const order = prompts.flatMap((prompt) => /wait (\d)/.exec(prompt)?.[1] ?? [])
    expect(order).toEqual(['1', '2', '3', '4', '5'])
  })

  it('runs at once when a reload raises the budget, or removes it', async () => {
    const gateway = await startPriced({ hooks: waiting })
    gateway.model.otherwise(reply)
    const ids = await fill(gateway, 5)
    const raised = [{ per: '1h', runs: 3, onLimit: 'wait' }]
    await gateway.reload({ hooks: { mappings: [mapping('wait', { budget: raised })] } })
    await expect.poll(async () => (await statusOf(gateway, ids[2]!)).status, { timeout: 8000 }).toBe('succeeded')
    expect((await statusOf(gateway, ids[3]!)).status).toBe('queued')
    await gateway.reload({ hooks: { mappings: [mapping('wait')] } })
    for (const id of ids)
      await expect.poll(async () => (await statusOf(gateway, id)).status, { timeout: 8000 }).toBe('succeeded')
  })

  it('waits if the money was spent while it was queued, and starts in the next window', async () => {
    const gateway = await startPriced({
      hooks: {
        mappings: [mapping('wait', { budget: [{ per: '1h', usd: callUsd, onLimit: 'wait' }], concurrency: 1 })],
      },
    })
    gateway.model.otherwise({ text: 'Done.', pauseMs: 20 })
    const ids = await fill(gateway, 2)
    await expect.poll(async () => (await statusOf(gateway, ids[1]!)).waitingFor).toBe('hooks.mappings[0].budget[0]')
    expect(gateway.model.requests).toHaveLength(1)
    vi.setSystemTime(Date.now() + hour)
    await expect.poll(async () => (await statusOf(gateway, ids[1]!)).status, { timeout: 8000 }).toBe('succeeded')
  })
})

describe('an alert', () => {
  const alerts = { channel: 'chat-native', to: 'boss' }
  const hooks = { mappings: [mapping('a', { budget: [{ per: '1d', usd: 0.17 }] })] }

  it('is sent at 80 % and at 100 %, once in each window, and names what spends most', async () => {
    const gateway = await startPriced({ alerts, hooks })
    const { chat, hook, model } = gateway
    model.otherwise(reply)
    const texts = () => {
      const chunks = Map.groupBy(
        chat.held.filter(({ to }) => to === 'boss'),
        ({ key }) => key.split(':')[0],
      )
      return [...chunks.values()].map((parts) => parts.map(({ text }) => text).join(' '))
    }
    await hook('a')
    expect(texts()).toEqual([])
    await hook('a')
    await expect
      .poll(texts)
      .toEqual([expect.stringMatching(/^80 % of the budget \S+ is used: \$0\.14 of \$0\.17 per 1d/)])
    await hook('a')
    await expect.poll(texts).toHaveLength(2)
    expect(texts()[1]).toMatch(/is used up: \$0\.21 of \$0\.17/)
    // The double takes messages in chunks.
    const whole = () => texts()[1]!.replaceAll(/\s+/g, ' ')
    await expect.poll(whole).toContain('hook a (100 %), agent main (100 %), model double/m (100 %)')
    await expect.poll(whole).toContain('edit hooks.mappings[0].budget[0]')
    expect((await hook('a')).status).toBe(429)
    // A restart within the window sends nothing again.
    await gateway.gateway.close()
    const again = await startGatewayOn(`${gateway.dir}/gateway.json5`)
    expect((await again.post('/hooks/a', {})).status).toBe(429)
    vi.setSystemTime(Date.now() + day)
    for (let n = 0; n < 2; n++) await again.post('/hooks/a', {}, { prefer: 'wait=20' })
    await expect.poll(texts).toHaveLength(3)
    expect(texts()[2]).toMatch(/^80 % of the budget/)
  })
})

it('a reload raises and lowers a budget within its window, and a restart forgets nothing', async () => {
  const limit = (usd: number) => ({ hooks: { budget: [{ per: '1d', usd }], mappings: [mapping('a')] } })
  const gateway = await startPriced(limit(10))
  gateway.model.otherwise(reply)
  const send = async () => (await gateway.hook('a')).status
  for (let n = 0; n < 2; n++) expect(await send()).toBe(200)
  await gateway.reload(limit(0.1))
  expect(await send()).toBe(429)
  await gateway.reload(limit(0.2))
  expect(await send()).toBe(200)
  expect(await send()).toBe(429)
  await gateway.gateway.close()
  const again = await startGatewayOn(`${gateway.dir}/gateway.json5`)
  expect((await again.post('/hooks/a', {})).status).toBe(429)
})

/** A window of a day in Berlin, found by walking the clock. */
describe('a machine without a time zone', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it.each(['', ':', 'No/Where'])('counts the days of budgets and of the usage in UTC, with TZ=%j', async (name) => {
    vi.stubEnv('TZ', name)
    const { get, hook, model } = await startPriced({
      budget: [{ per: '1d', runs: 5 }],
      hooks: { mappings: [mapping('a')] },
    })
    model.otherwise(reply)
    expect((await hook('a')).body.status).toBe('succeeded')
    expect((await get('/api/budgets')).body).toMatchObject({
      timezone: 'UTC',
      items: [{ used: { runs: 1 }, startedAt: '2026-10-24T00:00:00.000Z' }],
    })
    expect((await get('/api/usage?per=day&since=1d')).body).toMatchObject({
      timezone: 'UTC',
      items: [{ period: '2026-10-24' }],
    })
  })
})

const dateInBerlin = (at: number) => new Date(at).toLocaleDateString('en-CA', { timeZone: 'Europe/Berlin' })

it('counts as a list of the calls would, while the clock is set and the configuration changes', async () => {
  const random = createRandom(seed)
  const document = (tokens: number, per: string) => ({
    budget: { timezone: 'Europe/Berlin', limits: [{ per, tokens }] },
    hooks: { mappings: [mapping('a')] },
  })
  let [limit, per] = [140, '1d']
  const gateway = await startPriced(document(limit, per))
  gateway.model.otherwise(reply)
  /** When each call was made. */
  const calls: number[] = []
  const isSameWindow = (a: number, b: number): boolean =>
    per === '1d' ? dateInBerlin(a) === dateInBerlin(b) : Math.floor(a / hour) === Math.floor(b / hour)
  for (let count = 0; count < 80; count++) {
    const choice = random()
    // 2026-10-25 has 25 hours in Berlin.
    if (choice < 0.2) vi.setSystemTime(Date.now() + Math.floor(random() * 13) * hour)
    else if (choice < 0.35) vi.setSystemTime(Date.now() - Math.floor(random() * 13) * hour)
    else if (choice < 0.5) vi.setSystemTime(Date.now() + Math.floor(random() * 59) * minute)
    else if (choice < 0.65) {
      limit = 70 * (1 + Math.floor(random() * 3))
      per = random() < 0.5 ? '1d' : '1h'
      await gateway.reload(document(limit, per))
    } else {
      const now = Date.now()
      const used = 70 * calls.filter((at) => isSameWindow(at, now)).length
      const { status } = await gateway.hook('a')
      expect({ status, used, limit, per, now }).toEqual({ status: used >= limit ? 429 : 200, used, limit, per, now })
      if (status === 200) calls.push(now)
    }
  }
  expect(calls.length).toBeGreaterThan(0)
}, 120_000)
