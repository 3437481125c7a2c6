// What happens at the limit of a budget, at each way into the gateway.
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, vi } from 'vitest'
import { login } from '../control/rpc-client.ts'
import { ask, gatewayToken } from '../helpers.ts'
import { share } from '../share.ts'
import { feedPreset, startFeed } from '../hooks/feed.ts'
import { callTokens, callUsd, mapping, type PricedGateway, quiet, startPriced } from './gateway.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const reply = { text: 'Done.' }

/** One gateway for all: each test uses a budget of its own, and scripts what the model answers. */
const shared = share(() =>
  startPriced({
    budget: { timezone: 'Europe/Berlin', limits: [{ per: '1d', usd: 1000 }] },
    tools: { allow: ['*'] },
    gateway: { tools: { allow: ['sessions_send'] } },
    alerts: { channel: 'chat-native', to: 'boss' },
    hooks: {
      mappings: [
        mapping('runs', { budget: [{ per: '1d', runs: 2 }] }),
        mapping('usd', { budget: [{ per: '30d', usd: 0.1 }] }),
        mapping('both', {
          budget: [
            { per: '1h', tokens: 1_000_000 },
            { per: '1d', tokens: 100 },
          ],
        }),
        mapping('loop', { budget: [{ per: '1d', usd: 0.1 }], allowUnsafeExternalContent: true }),
        mapping('parent', { budget: [{ per: '1d', tokens: 3 * callTokens }], allowUnsafeExternalContent: true }),
        mapping('wide'),
        mapping('single', { budget: [{ per: '1d', runs: 1 }], allowUnsafeExternalContent: true }),
      ],
    },
    agents: {
      main: {},
      poor: { budget: [{ per: '1d', runs: 1 }] },
      lame: { budget: [{ per: '1d', tokens: 1 }], heartbeat: { every: 0 } },
    },
    channels: { budget: [{ per: '1d', runs: 1 }] },
  }),
)

/** The preset of the feed, whose events start runs. */
const feedOfRuns = feedPreset
  .replace("action: 'wake',", 'deliver: false,')
  .replace('null : { text }', 'null : { message: text }')

const find = async ({ budgets }: PricedGateway, key: string) => (await budgets()).find((one) => one['key'] === key)!

describe('a webhook at the limit', () => {
  it('gets 429 with the time until the window ends, and a sentence', async () => {
    const { hook, get, model } = shared()
    model.script(reply, reply)
    for (let n = 1; n <= 2; n++) expect((await hook('runs', { n })).body.status).toBe('succeeded')
    const { status, headers, body } = await hook('runs', { n: 3 })
    expect(status).toBe(429)
    const { endsAt } = await find(shared(), 'hooks.mappings[0].budget[0]')
    const left = (Date.parse(String(endsAt)) - Date.now()) / 1000
    expect(Math.abs(Number(headers.get('retry-after')) - left)).toBeLessThan(10)
    expect(body.error).toEqual({
      type: 'budget_exceeded',
      message: expect.stringMatching(
        /^The budget hooks\.mappings\[0\]\.budget\[0\] is used up: 2 of 2 runs per 1d\. It opens again at \d{4}-\d\d-\d\d 00:00 \(Europe\/Berlin\)\.$/,
      ),
    })
    await expect
      .poll(async () => (await get('/api/requests?hook=runs&limit=1')).body.items[0])
      .toMatchObject({ status: 'rejected', error: { type: 'budget_exceeded' } })
  })

  it('is refused when what was spent reaches the limit, and others are not', async () => {
    const { hook, model } = shared()
    model.script(reply, reply, reply)
    expect((await hook('usd')).body.status).toBe('succeeded')
    expect((await hook('usd')).body.status).toBe('succeeded')
    const refused = await hook('usd')
    expect(refused.status).toBe(429)
    expect(refused.body.error.message).toContain('$0.14 of $0.10 per 30d')
    expect((await hook('wide')).body.status).toBe('succeeded')
  })

  it('is refused by the first of several budgets that is used up', async () => {
    const { hook, model } = shared()
    model.script(reply, reply)
    await hook('both')
    await hook('both')
    expect((await hook('both')).body.error.message).toContain('hooks.mappings[2].budget[1] is used up: 140 of 100')
  })

  it('that starts a subagent pays for it, and so the subagent is refused', async () => {
    const { hook, get, model } = shared()
    const task = { tool: 'sessions_spawn', args: { task: 'Think.' } }
    model.script(task, { text: 'Thought.' }, { text: 'Started one.' })
    const { body } = await hook('parent')
    expect(body.status).toBe('succeeded')
    await expect
      .poll(async () => (await find(shared(), 'hooks.mappings[4].budget[0]'))['used'])
      .toMatchObject({ tokens: 3 * callTokens, runs: 2 })
    const { items } = (await get('/api/runs?kind=subagent&limit=1')).body
    expect(items[0].origin).toMatchObject({ root: { kind: 'hook', name: 'parent', mapping: 'parent' } })
    expect((await hook('parent')).status).toBe(429)
  })
})

describe('a run under way', () => {
  it('ends after the step, keeps what it has said, and is not tried again', async () => {
    const { hook, get, model } = shared()
    const step = { calls: [{ tool: 'agents_list', args: {} }] }
    model.script(step, step)
    const { body } = await hook('loop')
    expect(body).toMatchObject({ status: 'failed', error: { type: 'budget_exceeded' } })
    const run = (await get(`/runs/${body.runId}`)).body
    expect(run.error.message).toContain('hooks.mappings[3].budget[0] is used up: $0.14 of $0.10 per 1d')
    expect(run.usage).toMatchObject({ steps: 2, cost: 2 * callUsd })
    expect(run.attempts).toHaveLength(1)
    const { transcript } = (await get(`/api/sessions/${encodeURIComponent(run.sessionKey)}`)).body
    expect(transcript.map(({ role }: { role: string }) => role)).toContain('tool')
    expect(
      (await ask(`${shared().url}/api/runs/${body.runId}/retry`, { method: 'POST', headers: operator })).status,
    ).toBe(429)
  })
})

describe('others at the limit', () => {
  it('a chat message gets one sentence in each window', async () => {
    const { chat, model } = shared()
    model.script({ text: 'Hello Ann.' })
    expect(await chat.say({ text: 'Hi', to: 'room' })).toBe('accepted')
    await chat.holds(1, 'room')
    for (const text of ['And?', 'Hello?']) expect(await chat.say({ text, to: 'room' })).toBe('accepted')
    const refusal = /^I cannot answer now\. The budget channels\.chat-native\.budget\[0\] is used up: 1 of/
    const refusals = (to: string) => chat.held.filter((sent) => sent.to === to && refusal.test(sent.text))
    await expect.poll(() => refusals('room')).toHaveLength(1)
    expect(await chat.say({ text: 'Anybody?', to: 'other room' })).toBe('accepted')
    await expect.poll(() => refusals('other room')).toHaveLength(1)
    expect(refusals('room')).toHaveLength(1)
  })

  it('tools, MCP clients and chats over the WebSocket get the sentence', async () => {
    const { post, url, model } = shared()
    model.script(reply)
    const send = () =>
      post(
        '/tools/invoke',
        { tool: 'sessions_send', args: { sessionKey: 'agent:poor:main', message: 'Hi', waitSeconds: 10 } },
        operator,
      )
    expect((await send()).status).toBe(200)
    const sentence = /agents\.poor\.budget\[0\] is used up: 1 of 1 run per 1d/
    const refused = await send()
    expect(refused.status).toBe(429)
    expect(refused.body.error).toMatchObject({ type: 'budget_exceeded', message: expect.stringMatching(sentence) })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const mcp = new Client({ name: 'test', version: '1' })
    const init = { requestInit: { headers: operator } }
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), init))
    const args = { sessionKey: 'agent:poor:main', message: 'Hi' }
    expect(await mcp.callTool({ name: 'sessions_send', arguments: args })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringMatching(sentence) }],
    })
    await mcp.close()
    const client = await login(url)
    const answer = await client.call('chat.send', { sessionKey: 'agent:poor:main', text: 'Hi' })
    expect(answer).toMatchObject({
      error: { message: expect.stringMatching(sentence), data: { type: 'budget_exceeded' } },
    })
  })

  it('a subagent is not started, and the run that asks for it reads the sentence', async () => {
    const { hook, model, get } = shared()
    model.script({ tool: 'sessions_spawn', args: { task: 'Think.' } }, { text: 'I could not.' })
    const { body } = await hook('single')
    expect(body).toMatchObject({ status: 'succeeded' })
    const steps = (await get(`/runs/${body.runId}/steps`)).body.items
    expect(steps[1]).toMatchObject({
      tool: 'sessions_spawn',
      error: expect.stringMatching(/^The budget \S+ is used up/),
    })
    expect(await model.prompt(model.requests.length - 1)).toContain('is used up: 1 of 1 run per 1d')
  })

  it('a heartbeat is skipped, and its events wait until the budget opens', async () => {
    const start = (tokens: number) => ({
      hooks: { mappings: [mapping('spend')] },
      agents: { main: { budget: [{ per: '1d', tokens }] } },
    })
    const { hook, post, get, logged, model, reload } = await startPriced(start(callTokens))
    model.otherwise({ text: 'HEARTBEAT_OK' })
    expect((await hook('spend')).body.status).toBe('succeeded')
    expect((await post('/hooks/wake', { text: 'The build failed.', mode: 'now' })).status).toBe(200)
    const skipped = 'heartbeats are skipped: a budget is used up'
    await expect.poll(() => logged.filter((line) => line.includes(skipped)), { timeout: 20_000 }).toHaveLength(1)
    const session = async () => (await get('/api/sessions/agent:main:main')).body
    // That of the webhook, and the summary of the run.
    expect(await session()).toMatchObject({ waitingEvents: 2 })
    expect(model.requests).toHaveLength(1)
    await reload(start(10 * callTokens))
    await expect.poll(async () => (await session()).waitingEvents, { timeout: 20_000 }).toBe(0)
    expect(await model.prompt(1)).toContain('The build failed.')
  })

  it('the job of a preset keeps its payload, and tries it again when the budget opens', async () => {
    const feed = await startFeed()
    const document = (runs: number) => ({
      plugins: ['./feed.ts'],
      hooks: { presets: ['feed'], feed: { url: feed.url, budget: [{ per: '1d', runs }] } },
    })
    const running = await startPriced(document(1), {
      prepare: (dir) => writeFileSync(join(dir, 'feed.ts'), feedOfRuns),
    })
    running.model.otherwise(reply)
    for (const id of ['a', 'b']) feed.send({ id, payload: { text: `event ${id}` } })
    const done = () => feed.asked.filter((path) => path.startsWith('/done'))
    // The job starts again after the refusal, from the last payload that was accepted.
    await expect.poll(() => feed.asked, { timeout: 20_000 }).toContain('/hello/a')
    expect(done()).toEqual(['/done/accepted'])
    const sentence = 'The budget hooks.feed.budget[0] is used up: 1 of 1 run per 1d.'
    expect(running.logged.filter((line) => line.includes(sentence))).not.toEqual([])
    feed.send({ id: 'b', payload: { text: 'event b' } })
    await running.reload(document(9))
    await expect.poll(done, { timeout: 20_000 }).toHaveLength(2)
    const { items } = (await running.get('/api/requests?hook=feed&status=accepted')).body
    expect(items).toHaveLength(2)
  })

  it('schedules are skipped, and a person who starts one reads why', async () => {
    const { post, get, logged, model } = shared()
    model.script(reply)
    const { body } = await post('/hooks/agent', { message: 'Hi', agentId: 'lame', ...quiet }, { prefer: 'wait=20' })
    expect(body.status).toBe('succeeded')
    const invoke = (args: object) =>
      post('/tools/invoke', { tool: 'cron', args, sessionKey: 'agent:lame:main' }, operator)
    expect((await invoke({ action: 'add', name: 'tick', message: 'Tick', every: '10s' })).status).toBe(200)
    const [due] = (await get('/api/schedules?agentId=lame')).body.items
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(due.nextAt) + 1 })
    try {
      // Any new schedule makes the gateway look for due ones.
      await invoke({ action: 'add', name: 'later', message: 'Later', every: '1d' })
      await expect
        .poll(async () =>
          (await get('/api/schedules?agentId=lame')).body.items.find((one: { name: string }) => one.name === 'tick'),
        )
        .toMatchObject({ lastAt: due.nextAt, skipped: expect.stringContaining('agents.lame.budget[0] is used up') })
    } finally {
      vi.useRealTimers()
    }
    const run = await invoke({ action: 'run', id: due.id })
    expect([run.status, run.body.error.type]).toEqual([429, 'budget_exceeded'])
    expect(logged.some((line) => line.includes('a schedule does not fire: a budget is used up'))).toBe(true)
  })
})

it('counts in the store what the steps and runs have used', async () => {
  const { dir, get } = shared()
  await expect.poll(async () => (await get('/api/runs?status=running')).body.items).toEqual([])
  const db = new DatabaseSync(join(dir, 'state', 'gateway.db'), { readOnly: true })
  const steps = db
    .prepare(
      `SELECT sum(json_extract(detail, '$.usage.totalTokens')) AS tokens,
         sum(json_extract(detail, '$.usage.costNanoUsd')) AS nanoUsd FROM step WHERE kind = 'model'`,
    )
    .get()
  const runs = db.prepare('SELECT count(*) AS runs FROM run').get()
  const counted = db
    .prepare(
      `SELECT sum(runs) AS runs, sum(tokens) AS tokens, sum(nano_usd) AS "nanoUsd" FROM budget_usage WHERE scope = 'all'`,
    )
    .get()
  db.close()
  expect({ ...counted }).toEqual({ ...runs, ...steps })
})
