// Tests the usage of models over HTTP: what calls cost, and what is reported of them by what they were for and by time.
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { computeCost } from '../../core/agents/prices.ts'
import { readUsage } from '../../core/agents/usage.ts'
import { messagesOf, startModel } from '../doubles/model.ts'
import { askForUsage, writeReporter } from '../doubles/reporter.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const models = [
  { id: 'own/full', price: { input: 2, output: 10, cachedInput: 0.5, cacheWrite: 3, reasoning: 20 } },
  { id: 'own/simple', price: { input: 2, output: 10 } },
  { id: 'own/free', price: { input: 0, output: 0 } },
  'own/unpriced',
  'openai/gpt-5-mini',
  { id: 'openai/gpt-5', price: { input: 1, output: 1 } },
  'openai/nothing-like-it',
  'openai/text-embedding-3-small',
  'anthropic/claude-sonnet-4-5',
  'builtin/rules',
]

const providers = {
  own: { kind: 'reporter' },
  openai: { kind: 'reporter', url: 'https://api.openai.com/v1' },
  anthropic: { kind: 'reporter', url: 'https://api.anthropic.com/v1' },
}

const wait = { prefer: 'wait=20' }

/** The usage of most tests: 1000 input tokens, of which 600 are cached and 100 written to the cache. */
const usual = `{
  inputTokens: { total: 1000, noCache: 300, cacheRead: 600, cacheWrite: 100 },
  outputTokens: { total: 500, text: 300, reasoning: 200 },
}`

const shared = share(async () => {
  const dir = temporaryFolder()
  const gateway = await startGateway(
    {
      plugins: [writeReporter(dir)],
      providers,
      budget: { timezone: 'Asia/Kathmandu' },
      agents: { defaults: { model: 'own/full', models, heartbeat: { every: '0' } }, main: {}, other: {} },
      hooks: { mappings: [{ match: { path: 'deploys' }, messageTemplate: '{{ text }}' }] },
    },
    dir,
  )
  return { ...gateway, dir }
})

interface Asked {
  usage?: string
  hook?: string
  agentId?: string
  sessionKey?: string
}

/** Makes a run with this model, and returns its usage and that of its only step. */
async function run(model: string, { usage = usual, hook = 'agent', ...fields }: Asked = {}) {
  const { post, get } = shared()
  const text = askForUsage(usage)
  const body = { message: text, text, model, deliver: false, wakeMode: 'next-heartbeat', ...fields }
  const { runId, status } = (await post(`/hooks/${hook}`, body, wait)).body
  const record = (await get(`/runs/${runId}`)).body
  const [step] = (await get(`/runs/${runId}/steps`)).body.items
  return { status, record, usage: record.usage, step: step.usage }
}

describe('the cost of a call', () => {
  it('is computed by the prices of the configuration, each kind of token by its own', async () => {
    const { usage, step } = await run('own/full')
    const cost = (300 * 2 + 600 * 0.5 + 100 * 3 + 300 * 10 + 200 * 20) / 1e6
    expect(step).toEqual({
      inputTokens: 1000,
      outputTokens: 500,
      cachedInputTokens: 600,
      cacheWriteTokens: 100,
      reasoningTokens: 200,
      totalTokens: 1500,
      cost,
    })
    expect(usage).toEqual({ ...step, steps: 1 })
  })

  it('is that of input and output where cached and reasoning tokens have no price of their own', async () => {
    expect((await run('own/simple')).step.cost).toBe((1000 * 2 + 500 * 10) / 1e6)
  })

  it('is found in the price table by the address of the service, with discounts for cached tokens', async () => {
    expect((await run('openai/gpt-5-mini')).step.cost).toBe((400 * 0.25 + 600 * 0.025 + 500 * 2) / 1e6)
    const long = usual.replace('total: 1000, noCache: 300', 'total: 300_000, noCache: 299_300')
    const [first, beyond200k] = [
      await run('anthropic/claude-sonnet-4-5'),
      await run('anthropic/claude-sonnet-4-5', { usage: long }),
    ]
    expect(first.step.cost).toBeCloseTo((300 * 3 + 600 * 0.3 + 100 * 3.75 + 500 * 15) / 1e6, 9)
    expect(beyond200k.step.cost).toBeCloseTo((299_300 * 6 + 600 * 0.6 + 100 * 7.5 + 500 * 22.5) / 1e6, 9)
  })

  it('is by the price of the configuration where both have one', async () => {
    expect((await run('openai/gpt-5')).step.cost).toBe(1500 / 1e6)
  })

  it('is zero for a model that is free, by the configuration or by definition', async () => {
    expect((await run('own/free')).step.cost).toBe(0)
    const { usage } = await run('builtin/rules')
    expect(usage).toMatchObject({ cost: 0, steps: 1 })
    expect(usage).not.toHaveProperty('unpricedSteps')
  })

  it.each(['own/unpriced', 'openai/nothing-like-it', 'openai/text-embedding-3-small'])(
    'is absent for a model without a price: %s',
    async (model) => {
      const { usage, step } = await run(model)
      expect(step).not.toHaveProperty('cost')
      expect(usage).not.toHaveProperty('cost')
      expect(usage).toMatchObject({ steps: 1, unpricedSteps: 1, totalTokens: 1500 })
    },
  )

  it('is by an estimate of the tokens if the service reports none', async () => {
    for (const usage of ['{}', '{ inputTokens: { total: 0 }, outputTokens: { total: 0 } }']) {
      const { step } = await run('own/simple', { usage: usage.replace('{', `{ text: 'x'.repeat(4000),`) })
      expect(step).toMatchObject({ estimated: true, outputTokens: 1000 })
      expect(step.inputTokens).toBeGreaterThan(100)
      expect(step.cost).toBeCloseTo((step.inputTokens * 2 + 1000 * 10) / 1e6, 9)
    }
  })

  it('includes cached and reasoning tokens of a service that counts them beside the others', async () => {
    const usage = '{ inputTokens: { total: 10, cacheRead: 600 }, outputTokens: { total: 5, reasoning: 200 } }'
    expect((await run('own/simple', { usage })).step).toMatchObject({ inputTokens: 610, outputTokens: 205 })
  })
})

describe('the cost of hostile usage', () => {
  /** By how the model's plugin writes them. */
  const values: Readonly<Record<string, unknown>> = {
    undefined: undefined,
    null: null,
    '-1': -1,
    '-1e300': -1e300,
    '0': 0,
    '-0': -0,
    '0.5': 0.5,
    '1': 1,
    '7.9': 7.9,
    '1e9': 1e9,
    '1e300': 1e300,
    Infinity,
    '-Infinity': -Infinity,
    NaN: Number.NaN,
    '"12"': '12',
    '{}': {},
    '[5]': [5],
    true: true,
    '2 ** 53': 2 ** 53,
    'Number.MIN_VALUE': Number.MIN_VALUE,
  }

  const isSane = ([name, value]: [string, unknown]): boolean => {
    if (name === 'estimated' || name === 'isEstimated') return value === true
    return name === 'cost'
      ? Number.isFinite(value) && Number(value) >= 0
      : Number.isSafeInteger(value) && Number(value) >= 0
  }
  const expectSane = (usage: object): void =>
    expect(Object.entries(usage).filter((entry) => !isSane(entry))).toEqual([])

  it('is a number that is not negative, whatever a run reports', async () => {
    for (const value of Object.keys(values)) {
      const usage = `{
        inputTokens: { total: ${value}, noCache: ${value}, cacheRead: ${value}, cacheWrite: ${value} },
        outputTokens: { total: ${value}, text: ${value}, reasoning: ${value} },
      }`
      const { status, step } = await run('own/full', { usage })
      expect(status).toBe('succeeded')
      expectSane(step)
      expect(step).toHaveProperty('cost')
    }
    const { body } = await shared().get('/api/usage')
    expectSane(body.total)
  })

  it('is a number that is not negative for each combination of token counts and each kind of price', async () => {
    let random = 1
    const all = Object.values(values) as number[]
    const pick = (): number => all[(random = (random * 48_271) % 2_147_483_647) % all.length]!
    const sources = [
      { own: { input: 100_000, output: 100_000, cachedInput: 0, cacheWrite: 100_000, reasoning: 100_000 } },
      { own: { input: 0.0001, output: 0 } },
      { url: 'https://api.anthropic.com' },
      'free',
    ] as const
    for (let times = 0; times < 3000; times++) {
      const reported = {
        inputTokens: pick(),
        inputTokenDetails: { noCacheTokens: pick(), cacheReadTokens: pick(), cacheWriteTokens: pick() },
        outputTokens: pick(),
        outputTokenDetails: { textTokens: pick(), reasoningTokens: pick() },
        totalTokens: pick(),
      }
      const usage = readUsage(reported, { inputTokens: () => 10, outputTokens: () => 3 })
      const costNanoUsd = await computeCost(sources[times % sources.length], 'claude-opus-4-1', usage)
      expectSane({ ...usage, costNanoUsd })
      expect(usage.inputTokens).toBeGreaterThanOrEqual(usage.cachedInputTokens + usage.cacheWriteTokens)
      expect(usage.outputTokens).toBeGreaterThanOrEqual(usage.reasoningTokens)
    }
  })
})

describe('the cost of a run', () => {
  it('says what its subagent runs have cost, and those that these started', async () => {
    const model = await startModel()
    const { post, get } = await startGateway({
      providers: model.providers,
      agents: {
        defaults: {
          model: 'double/m',
          models: [{ id: 'double/m', price: { input: 2, output: 10 } }],
          heartbeat: { every: '0' },
        },
      },
      tools: {
        byOrigin: { hook: { allow: ['sessions_spawn'] } },
        subagents: { maxDepth: 2, tools: { allow: ['sessions_spawn'] } },
      },
    })
    // The run starts a subagent, which starts another one.
    const tasks = ['First.', 'Second.', 'Third.']
    model.otherwise((request) => {
      const { role, content } = messagesOf(request).at(-1)!
      const next = tasks[tasks.findIndex((task) => content.includes(task)) + 1]
      if (role === 'tool' || next === undefined) return { text: 'Done.' }
      return { tool: 'sessions_spawn', args: { task: next } }
    })
    const message = { message: 'First.', deliver: false, wakeMode: 'next-heartbeat' }
    const { runId } = (await post('/hooks/agent', message, wait)).body
    const subagents = async () => (await get(`/runs/${runId}`)).body.subagents
    await expect.poll(subagents, { timeout: 10_000 }).toMatchObject({ runs: 2, steps: 3 })
    const ofCall = (50 * 2 + 20 * 10) / 1e6
    expect(await subagents()).toEqual({ runs: 2, steps: 3, totalTokens: 210, cost: 3 * ofCall })
    const run = (await get(`/runs/${runId}`)).body
    expect(run.usage.cost).toBeCloseTo(2 * ofCall, 9)
    const { items } = (await get('/api/runs?kind=subagent')).body
    const parents = items.map(({ parentRunId }: { parentRunId: string }) => parentRunId)
    expect(parents).toEqual([items[1].id, runId])
    expect(items[0]).not.toHaveProperty('subagents')
    // All of it goes back to the webhook.
    expect((await get('/api/usage?by=hook')).body.items).toEqual([
      expect.objectContaining({ hook: 'agent', steps: 5, cost: expect.closeTo(5 * ofCall, 9) }),
    ])
  })
})

describe('GET /api/usage', () => {
  it('adds up to the steps that are stored', async () => {
    await run('own/full', { hook: 'deploys' })
    await run('own/unpriced', { agentId: 'other' })
    const { get, dir } = shared()
    const db = new DatabaseSync(join(dir, 'state/gateway.db'), { readOnly: true })
    const [stored] = db
      .prepare(
        `SELECT count(*) AS steps, sum(detail ->> '$.usage.costNanoUsd') / 1e9 AS cost,
          sum(detail ->> '$.usage.inputTokens') AS inputTokens, sum(detail ->> '$.usage.outputTokens') AS outputTokens,
          sum(detail ->> '$.usage.cachedInputTokens') AS cachedInputTokens,
          sum(detail ->> '$.usage.cacheWriteTokens') AS cacheWriteTokens,
          sum(detail ->> '$.usage.reasoningTokens') AS reasoningTokens,
          sum(detail ->> '$.usage.totalTokens') AS totalTokens,
          sum((detail ->> '$.usage.costNanoUsd') IS NULL) AS unpricedSteps
        FROM step WHERE kind = 'model' AND detail ->> '$.usage' IS NOT NULL`,
      )
      .all()
    for (const by of ['agent', 'kind', 'hook', 'channel', 'model', 'session'])
      for (const per of ['hour', 'day', 'month']) {
        const { body } = await get(`/api/usage?by=${by}&per=${per}`)
        expect(body.total).toEqual({ ...stored })
        const sum = (name: string) =>
          (body.items as Record<string, number>[]).reduce((total, item) => total + (item[name] ?? 0), 0)
        for (const [name, value] of Object.entries({ ...stored } as Record<string, number>))
          expect(sum(name), `${name} by ${by} per ${per}`).toBeCloseTo(value, 6)
      }
  })

  it('names what the usage was for, and what costs most first', async () => {
    const { get } = shared()
    const { record } = await run('own/full', { hook: 'deploys' })
    const hooks = (await get('/api/usage?by=hook')).body
    expect(hooks.items.map(({ hook }: { hook: string }) => hook).toSorted()).toEqual(['agent', 'deploys'])
    expect(hooks.items[0].cost).toBeGreaterThan(hooks.items[1].cost)
    expect(hooks).toMatchObject({
      timezone: 'Asia/Kathmandu',
      prices: expect.stringMatching(/^@pydantic\/genai-prices \d/),
    })
    const { items } = (await get('/api/usage?by=model')).body
    expect(items.find(({ model }: { model: string }) => model === 'own/unpriced')).not.toHaveProperty('cost')
    const agents = (await get('/api/usage?by=agent&per=day')).body.items
    expect(agents).toContainEqual(
      expect.objectContaining({ agent: 'other', period: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) }),
    )
    const sessions = (await get('/api/usage?by=session')).body.items
    expect(sessions).toContainEqual(expect.objectContaining({ ...record.usage, session: record.sessionKey }))
  })

  it.each(['since=yesterday', 'until=2026-02-31', 'since=2026-11-01T00:00', 'by=colour', 'per=year', 'since='])(
    'refuses %s',
    async (query) => {
      const { status, body } = await shared().get(`/api/usage?${query}`)
      expect(status).toBe(400)
      expect(body.error.message).toMatch(/^(?:since|until|by|per) must be/)
    },
  )
})
