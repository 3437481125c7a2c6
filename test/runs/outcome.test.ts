// Tests what a webhook run leaves behind: the run summary, the delivery of the reply, and the run's record.
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { login } from '../control/rpc-client.ts'
import {
  type Answer,
  type Document,
  gatewayToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
} from '../helpers.ts'
import { share } from '../share.ts'

type Channels = Parameters<Chat['config']>[1]

interface Setup extends RunningGateway {
  chat: Chat
  model: ModelServer
  /** Starts a run and waits for its end. */
  run(fields?: Document): Promise<Answer>
  /** Returns the run's record when none of its deliveries is pending. */
  record(run: Answer): Promise<Answer['body']>
}

async function start(
  answers: ModelAnswer[],
  { channels = { 'chat-native': {} }, ...changes }: { channels?: Channels } & Document = {},
): Promise<Setup> {
  const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
  model.script(...answers)
  const plugged = chat.config(dir, channels)
  const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 }, retry: { forSeconds: 0 } } }
  const gateway = await startGateway({ providers: model.providers, agents, ...changes, ...plugged }, dir)
  const run = (fields: Document = {}) =>
    gateway.post(
      '/hooks/agent',
      { message: 'Do it.', name: 'CI', wakeMode: 'next-heartbeat', ...fields },
      { prefer: 'wait=20' },
    )
  const record = async ({ body }: Answer) => {
    const look = async () => (await gateway.get(`/runs/${body.runId}`)).body
    await expect
      .poll(async () => (await look()).deliveries.map(({ status }: { status: string }) => status))
      .not.toContain('pending')
    return await look()
  }
  return { ...gateway, chat, model, run, record }
}

/** Each test scripts what the model answers, and starts no heartbeats. */
const shared = share(() => start([]))

/** Runs with this answer on the shared gateway. Returns the run's record and what the chat received of it. */
async function outcomeOf(answer: ModelAnswer, fields: Document = {}) {
  const { run, record, model, chat } = shared()
  model.script(answer)
  const response = await run(fields)
  const ofRun = ({ key }: { key: string }) => key.startsWith(`${response.body.runId}:`)
  return { response, record: await record(response), attempts: () => chat.attempts.filter(ofRun) }
}

const ok = { text: 'HEARTBEAT_OK' }
const waiting = (name: string) => ({ message: `Do ${name}.`, name, deliver: false })

/** Here every run wakes the agent, and the heartbeat has rendered its summary when the test goes on. */
const waking = share(() => start([]))

/** Returns the run summary as the next heartbeat reads it. */
async function summaryOf(answer: ModelAnswer, fields: Document = {}): Promise<string> {
  const { run, model, get } = waking()
  const before = model.requests.length
  model.script(answer, ok)
  await run({ wakeMode: 'now', ...fields })
  const prompt = await model.prompt(before + 1)
  await expect.poll(async () => (await get('/api/runs?kind=heartbeat&limit=1')).body.items[0]?.status).toBe('succeeded')
  return /\n---\n([\s\S]*)\n<<<END/.exec(prompt)![1]!
}

describe('the run summary', () => {
  it('begins with the name of the run, and says where the reply goes', async () => {
    expect(await summaryOf({ text: 'All green.' }, { channel: 'chat-native', to: 'ops' })).toBe(
      'Hook CI: All green.\n(The reply is on its way to ops on chat-native; do not repeat it.)',
    )
  })

  it('has no name when the request has none', async () => {
    expect(await summaryOf({ text: 'All green.' }, { name: undefined, deliver: false })).toBe(
      'Hook: All green.\n(The reply was not delivered: none was asked for.)',
    )
  })

  it('says why the reply was not delivered', async () => {
    expect(await summaryOf({ text: 'All green.' })).toMatch(
      /^Hook CI: All green\.\n\(The reply was not delivered: .*"whatsapp".*\)$/,
    )
  })

  it('is also posted for an acknowledgement and for an empty answer', async () => {
    expect(await summaryOf(ok, { channel: 'chat-native', to: 'ops' })).toBe(
      'Hook CI: HEARTBEAT_OK\n(The reply was not delivered: The reply only acknowledges.)',
    )
    expect(await summaryOf({ text: ' ' }, { deliver: false })).toMatch(
      /^Hook CI \(failed\): The model gave an empty answer\.\n/,
    )
  })

  it('reports a failed run without the error text of the model service', async () => {
    const text = await summaryOf(
      { status: 400, body: { error: { message: 'canary' } } },
      { channel: 'chat-native', to: 'ops' },
    )
    expect(text).toBe("Hook CI (failed): The model's service answered 400.\nIt was about:\nDo it.")
  })

  it('reports a run that timed out', async () => {
    expect(await summaryOf({ hang: true }, { timeoutSeconds: 0.3 })).toBe(
      'Hook CI (failed): The run was stopped after 0.3 seconds.\nIt was about:\nDo it.',
    )
  })

  it('reports a queued run that is cancelled over HTTP or the WebSocket', async () => {
    const { run, post, model, url } = await start([{ hang: true }, ok], {
      gateway: { drainSeconds: 0 },
      hooks: { defaultSessionKey: 'one' },
    })
    void run({ deliver: false })
    await model.request(0)
    const [second, third] = [
      await post('/hooks/agent', waiting('second')),
      await post('/hooks/agent', waiting('third')),
    ]
    expect(
      (await post(`/api/runs/${second.body.runId}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })).status,
    ).toBe(200)
    const prompt = await model.prompt(1)
    expect(prompt).toContain('Hook second (failed): The run was cancelled.\nIt was about:\nDo second.')
    model.otherwise(ok)
    const client = await login(url)
    expect(await client.call('runs.cancel', { id: third.body.runId })).toMatchObject({ result: { ok: true } })
    expect(await model.prompt(2)).toContain('Hook third (failed): The run was cancelled.\nIt was about:\nDo third.')
  })

  it.each([
    ['a long reply', { text: 'word '.repeat(2000) }, {}],
    ['a long name', { text: 'x'.repeat(3000) }, { name: 'n'.repeat(5000) }],
    ['a long recipient', { text: 'x'.repeat(3000) }, { channel: 'chat-native', to: 't'.repeat(5000) }],
    ['surrogate pairs', { text: '👍'.repeat(2000) }, {}],
    ['a failure with a long name', { status: 400 }, { name: 'n'.repeat(5000) }],
  ])('has at most 2000 characters for %s', async (_case, answer, fields) => {
    const text = await summaryOf(answer, fields)
    expect(text.length).toBeLessThanOrEqual(2000)
    expect(text).toMatch(/^Hook /)
    expect(text).toContain('…')
    expect(text.isWellFormed()).toBe(true)
  })

  it('is posted in the main session of the default agent for every agent', async () => {
    const agents = {
      defaults: { model: 'double/m', heartbeat: { every: 0 } },
      main: { systemPrompt: 'I am main.' },
      ops: { systemPrompt: 'I am ops.' },
    }
    const { run, model } = await start([{ text: 'Done.' }, ok], { agents })
    expect((await run({ agentId: 'ops', wakeMode: 'now', deliver: false })).body.sessionKey).toMatch(/^agent:ops:/)
    expect(JSON.stringify(model.requests[0]!.body)).toContain('I am ops.')
    expect(await model.prompt(1)).toContain('Hook CI: Done.')
    expect(JSON.stringify(model.requests[1]!.body)).toContain('I am main.')
  })

  it('waits for the next heartbeat when wakeMode is next-heartbeat', async () => {
    const { run, model, post } = await start([{ text: 'Done.' }, { hang: true }, ok])
    await run({ deliver: false })
    // A wake would have had its effect by the time that this run times out.
    await run({ deliver: false, timeoutSeconds: 0.6 })
    await post('/hooks/wake', { text: 'Wake.' })
    const prompt = await model.prompt(2)
    expect(prompt).toContain('3 events')
    expect(prompt.indexOf('Hook CI: Done.')).toBeLessThan(prompt.indexOf('Hook CI (failed)'))
    expect(prompt.indexOf('Hook CI (failed)')).toBeLessThan(prompt.indexOf('Wake.'))
  })
})

describe('the delivery', () => {
  const to = { channel: 'chat-native', to: 'ops' }

  it('sends the reply to the requested channel and recipient', async () => {
    const { response, record, attempts } = await outcomeOf({ text: 'All green.' }, to)
    expect(record).toMatchObject({
      status: 'succeeded',
      reply: 'All green.',
      deliveries: [{ id: `${response.body.runId}:0`, ...to, status: 'sent' }],
    })
    expect(attempts()).toMatchObject([{ ...to, text: 'All green.' }])
  })

  it('does not exist when deliver is false', async () => {
    const { record, attempts } = await outcomeOf({ text: 'All green.' }, { ...to, deliver: false })
    expect(record).toMatchObject({ status: 'succeeded', deliveries: [] })
    expect(attempts()).toEqual([])
  })

  it('is skipped with a reason for an acknowledgement', async () => {
    const { record, attempts } = await outcomeOf({ text: '**HEARTBEAT_OK**' }, to)
    const reason = 'The reply only acknowledges.'
    expect(record).toMatchObject({ deliveries: [{ ...to, status: 'skipped', reason }] })
    expect(attempts()).toEqual([])
  })

  it('has what a webhook run says beside the acknowledgement, however short, without the word', async () => {
    const { record, attempts } = await outcomeOf({ text: 'The disk is full, act now. HEARTBEAT_OK' }, to)
    expect(record).toMatchObject({ deliveries: [{ ...to, status: 'sent' }] })
    expect(attempts()).toMatchObject([{ ...to, text: 'The disk is full, act now.' }])
  })

  it('fails on a channel that is not configured, while the run succeeds', async () => {
    const { response, record } = await outcomeOf({ text: 'Hi.' }, { channel: 'chat-none', to: 'ops' })
    const reason = 'The channel "chat-none" is not configured; add channels.chat-none to the config.'
    expect(response.body).toMatchObject({ status: 'succeeded', warnings: [reason] })
    expect(record).toMatchObject({
      status: 'succeeded',
      deliveries: [{ channel: 'chat-none', to: 'ops', status: 'failed', reason }],
    })
  })

  it('fails on a disabled channel', async () => {
    const { run, record } = await start([{ text: 'Hi.' }], { channels: { 'chat-native': { enabled: false } } })
    expect(await record(await run(to))).toMatchObject({
      deliveries: [{ status: 'failed', reason: expect.stringContaining('chat-native') }],
    })
  })

  it('uses whatsapp when no message has come in yet', async () => {
    const { record } = await outcomeOf({ text: 'Hi.' })
    expect(record).toMatchObject({ deliveries: [{ channel: 'whatsapp', status: 'failed' }] })
  })

  it("uses the account's or the channel's defaultTo when the request has no recipient", async () => {
    const first = await start([{ text: 'Hi.' }], { channels: { 'chat-native': { defaultTo: 'lobby' } } })
    expect(await first.record(await first.run({ channel: 'chat-native' }))).toMatchObject({
      deliveries: [{ to: 'lobby', status: 'sent' }],
    })
    const second = await start([{ text: 'Hi.' }], {
      channels: { 'chat-native': { defaultTo: 'lobby', accounts: { work: { defaultTo: 'desk' } } } },
    })
    expect(await second.record(await second.run({ channel: 'chat-native' }))).toMatchObject({
      deliveries: [{ to: 'desk', status: 'sent' }],
    })
  })

  it('fails with a reason when there is no recipient', async () => {
    const { record } = await outcomeOf({ text: 'Hi.' }, { channel: 'chat-native' })
    expect(record).toMatchObject({
      status: 'succeeded',
      deliveries: [
        { channel: 'chat-native', status: 'failed', reason: expect.stringContaining('channels.chat-native.defaultTo') },
      ],
    })
  })

  it('splits a long reply into chunks between characters, and closes code blocks', async () => {
    const code = ['```js', ...Array.from({ length: 12 }, (_, index) => `line(${index})`), '```'].join('\n')
    const text = `${'👩‍🚀'.repeat(30)}\n\n${code}\n\nThe end.`
    const { attempts } = await outcomeOf({ text }, to)
    const texts = attempts().map((message) => message.text)
    expect(texts.length).toBeGreaterThan(2)
    for (const chunk of texts) {
      expect(chunk.length).toBeLessThanOrEqual(80)
      expect(chunk.isWellFormed()).toBe(true)
      expect(chunk.match(/```/g)?.length ?? 0).toSatisfy((count: number) => count % 2 === 0)
    }
    const whole = texts.join('')
    for (let index = 0; index < 12; index++) expect(whole).toContain(`line(${index})`)
    expect(whole.match(/👩‍🚀/gu)?.length ?? 0).toBeGreaterThan(25)
  })

  it('fails without the run when the platform refuses the message', async () => {
    shared().chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'there is no such room' } })
    const { record } = await outcomeOf({ text: 'Hi.' }, to)
    expect(record).toMatchObject({
      status: 'succeeded',
      deliveries: [{ status: 'failed', reason: 'there is no such room' }],
    })
  })
})

describe('a run', () => {
  it('records the error text of the model service, and does not log it', async () => {
    const failure = { status: 400, body: { error: { message: 'canary: the prompt is odd' } } }
    const { response, record, attempts } = await outcomeOf(failure, { channel: 'chat-native', to: 'ops' })
    expect(response.body).toMatchObject({ ok: true, status: 'failed' })
    expect(record).toMatchObject({
      status: 'failed',
      error: {
        type: 'model_failed',
        message: "The model's service answered 400.",
        detail: expect.stringContaining('canary'),
      },
      deliveries: [],
    })
    expect(shared().logged.join('\n')).toContain(response.body.runId)
    expect(shared().logged.join('\n')).not.toContain('canary')
    expect(attempts()).toEqual([])
  })

  it('fails with a reason when the model only calls tools', async () => {
    const call = { tool: 'session_status', args: {} }
    const { run, record, model, chat } = shared()
    model.script(...Array.from({ length: 16 }, (_, id) => ({ ...call, id: `call-${id}` })))
    const answer = await run({ channel: 'chat-native', to: 'tools' })
    const error = { type: 'no_answer', message: 'The model gave no answer within 16 steps.' }
    expect(answer.body).toMatchObject({ status: 'failed', error })
    expect(await record(answer)).toMatchObject({ status: 'failed', error, usage: { steps: 16 }, deliveries: [] })
    expect(chat.attempts.filter(({ to }) => to === 'tools')).toEqual([])
  })

  it('is stopped after timeoutSeconds when the model hangs', async () => {
    const hanging = { hang: true, text: 'Let me think' }
    const { response, record } = await outcomeOf(hanging, { timeoutSeconds: 0.3, deliver: false })
    expect(response.body.status).toBe('timed_out')
    expect(record).toMatchObject({
      status: 'timed_out',
      error: { type: 'timed_out', message: 'The run was stopped after 0.3 seconds.' },
    })
    await shared().model.requests.at(-1)!.abandoned
  })

  it('uses timeoutSeconds, thinking level and model of the request, or else of the agent', async () => {
    const agents = {
      defaults: {
        model: 'double/m',
        models: ['double/m', { id: 'double/vendor/large', alias: 'big' }],
        thinking: 'low',
        timeoutSeconds: 600,
        heartbeat: { every: 0 },
      },
      main: {},
      hasty: { timeoutSeconds: 0.2, retry: { forSeconds: 0 } },
    }
    const { run, model } = await start([ok, ok, ok, { hang: true }], { agents })
    await run({ thinking: 'high', deliver: false })
    await run({ deliver: false })
    await run({ thinking: 'off', model: 'big', deliver: false })
    expect(model.requests.map(({ body }) => body['reasoning_effort'])).toEqual(['high', 'low', 'none'])
    expect(model.requests.map(({ body }) => body['model'])).toEqual(['m', 'm', 'vendor/large'])
    expect((await run({ agentId: 'hasty', deliver: false })).body.status).toBe('timed_out')
  })

  it('waits for the previous run in its session, but not for other sessions', async () => {
    const { run, post, get, model } = await start([{ hang: true }, { text: 'other' }], {
      gateway: { drainSeconds: 0 },
      hooks: { allowRequestSessionKey: true },
    })
    const body = { message: 'hi', wakeMode: 'next-heartbeat', deliver: false, sessionKey: 'hook:a' }
    await post('/hooks/agent', body)
    await model.request(0)
    const second = await post('/hooks/agent', body)
    expect((await run({ sessionKey: 'hook:b', deliver: false })).body).toMatchObject({
      status: 'succeeded',
      reply: 'other',
    })
    expect((await get(`/runs/${second.body.runId}`)).body.status).toBe('queued')
  })

  it('waits while agents.defaults.maxConcurrent other runs are active', async () => {
    const agents = { defaults: { model: 'double/m', maxConcurrent: 2, heartbeat: { every: 0 } } }
    const { post, get, model } = await start([{ hang: true }, { hang: true }], { gateway: { drainSeconds: 0 }, agents })
    const body = { message: 'hi', wakeMode: 'next-heartbeat', deliver: false }
    await Promise.all([post('/hooks/agent', body), post('/hooks/agent', body)])
    await model.request(1)
    const third = await post('/hooks/agent', body, { prefer: 'wait=1' })
    expect(third.body.status).toBe('queued')
    expect((await get(`/runs/${third.body.runId}`)).body).not.toHaveProperty('startedAt')
  })
})
