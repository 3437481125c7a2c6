// Several gateways on one PostgreSQL database.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { codeIn, scriptCall, shownArgs } from '../approvals/launch-pad.ts'
import { startApprovals } from '../approvals/start-approvals.ts'
import { login } from '../control/rpc-client.ts'
import { messagesOf, startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { newEvent, newSchedule } from '../contracts/store-samples.ts'
import { closeAtEnd, share } from '../share.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { channelOf, createDatabase, createStranger, query, startPostgres } from '../postgres.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'))
})
afterAll(() => database.remove())

const start = (changes: Document = {}): Promise<RunningGateway> =>
  startGateway({ storage: { url: database.url }, ...changes })

/** Its model calls a tool and then names the gateway. */
async function startWithTool(name: string): Promise<RunningGateway> {
  const [model, dir] = [await startModel(), temporaryFolder()]
  model.otherwise((request) =>
    messagesOf(request).at(-1)?.role === 'tool' ? { text: `Done by ${name}.` } : { tool: 'add', args: { n: 7 } },
  )
  await writeFile(join(dir, 'adder.mjs'), adder)
  const changes = {
    storage: { url: database.url },
    providers: model.providers,
    plugins: ['./adder.mjs'],
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    tools: { byOrigin: { hook: { allow: ['add'] } } },
  }
  return await startGateway(changes, dir)
}

const adder = `
  export default {
    kind: 'toolset', name: 'adder', description: 'Adds.',
    tools: [{
      name: 'add', group: 'adder', description: 'Adds.', effects: [],
      args: { type: 'object', properties: { n: { type: 'integer' } } }, execute: ({ n }) => n + 1,
    }],
  }`

describe('two gateways on one database', () => {
  it('answer Prefer: wait and run webhooks, whichever of them has the run', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Done.' })
    const changes = { providers: model.providers }
    const [one, other] = await Promise.all([start(changes), start(changes)])
    const post = (gateway: RunningGateway, n: number) =>
      gateway.post(
        '/hooks/agent',
        { message: `Task ${n}`, model: 'double/m', deliver: false, wakeMode: 'next-heartbeat' },
        { prefer: 'wait=20' },
      )
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => post(n % 2 ? one : other, n)))
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(
      Array.from({ length: 12 }, () => [200, 'succeeded']),
    )
    expect(await other.get(`/runs/${answers[1]?.body.runId}`)).toMatchObject({ status: 200 })
  })

  it('cancel a run, whichever of them executes it', async () => {
    const model = await startModel()
    model.otherwise({ hang: true })
    const changes = {
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    }
    const [one, other] = await Promise.all([start(changes), start(changes)])
    const operator = { authorization: `Bearer ${gatewayToken}` }
    const cancel = (gateway: RunningGateway, id: string) => gateway.post(`/api/runs/${id}/cancel`, {}, operator)
    // Each of them may execute any of the runs.
    const runIds = await Promise.all(
      [one, other, one, other].map(async ({ post }) => {
        const { body } = await post('/hooks/agent', { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' })
        return body.runId as string
      }),
    )
    await model.request(3)
    for (const [n, id] of runIds.entries()) {
      expect((await cancel(n < 2 ? one : other, id)).status).toBe(200)
      await expect.poll(async () => (await other.get(`/runs/${id}`)).body.status).toBe('cancelled')
      expect(await cancel(other, id)).toMatchObject({
        status: 409,
        body: { error: { message: 'The run has already ended: its status is cancelled.' } },
      })
    }
    const { items } = (await other.get('/api/audit?action=run.cancel')).body
    const done = items.filter(({ outcome }: { outcome: string }) => outcome === 'done')
    expect(done.map(({ target }: { target: string }) => target).toSorted()).toEqual(runIds.toSorted())
  })

  it('try a run that waits for a provider when either of them gets an answer from it', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const model = await startModel()
    const retry = { initialDelaySeconds: 600, maxDelaySeconds: 600 }
    const changes = {
      storage: { url: own.url },
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, retry } },
    }
    const [one, other] = await Promise.all([start(changes), start(changes)])
    const run = { message: 'Do it.', deliver: false, wakeMode: 'next-heartbeat' }
    model.otherwise({ status: 500, headers: { 'retry-after-ms': '1' } })
    const { runId } = (await one.post('/hooks/agent', run)).body
    const record = async () => (await other.get(`/runs/${runId}`)).body
    await expect.poll(async () => (await record()).nextAttemptAt).toBeDefined()
    model.otherwise({ text: 'Seen.' })
    // Only this gateway claims new runs from now on, and it does not know of the failure.
    await one.gateway.close()
    await other.post('/hooks/agent', run, { prefer: 'wait=20' })
    await expect.poll(async () => (await record()).status, { timeout: 20_000 }).toBe('succeeded')
  })

  it('show the steps of a run live, whichever of them executes it', async () => {
    const [one, other] = await Promise.all([startWithTool('one'), startWithTool('other')])
    const { call, notifications, until } = await login(other.url)
    await call('subscribe', { topics: ['step'] })
    const body = { message: 'Do it.', deliver: false, wakeMode: 'next-heartbeat' }
    const stepsOf = (runId: string) => notifications.map(({ params }) => params).filter((step) => step.runId === runId)
    // Until the first gateway knows of the subscriber it sends nothing, and each of them may execute the run.
    const runIds: string[] = []
    const findShown = () => runIds.find((id) => stepsOf(id)[0]?.number === 1)
    const runOnce = async () => {
      const { runId, reply } = (await one.post('/hooks/agent', body, { prefer: 'wait=20' })).body
      if (reply === 'Done by one.') runIds.push(runId)
    }
    await expect.poll(async () => findShown() ?? (await runOnce())).toBeDefined()
    const runId = findShown()
    await until(({ params }) => params.runId === runId && params.number === 3 && params.status === 'succeeded')
    const seen = stepsOf(runId as string)
    expect(seen.map(({ number, status }) => [number, status])).toEqual([
      [1, 'running'],
      [1, 'succeeded'],
      [2, 'running'],
      [2, 'succeeded'],
      [3, 'running'],
      [3, 'succeeded'],
    ])
    expect(seen[2]).toMatchObject({ sessionKey: expect.any(String), tool: 'add', args: { n: 7 } })
  })

  it('accept a request with the same key once', async () => {
    const [one, other] = await Promise.all([start(), start()])
    const post = (gateway: RunningGateway) =>
      gateway.post('/hooks/wake', { text: 'Once', mode: 'next-heartbeat' }, { 'idempotency-key': 'the same' })
    const answers = await Promise.all([one, other, one, other].map(post))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.eventId)).size).toBe(1)
  })

  it('lock out a client that fails in either of them', async () => {
    const limit = { hooks: { rateLimit: { maxAttempts: 4, windowMs: 60_000, lockoutMs: 60_000 } } }
    const [one, other] = await Promise.all([start(limit), start(limit)])
    const fail = async (gateway: RunningGateway) =>
      (await gateway.post('/hooks/wake', { text: 'x' }, { authorization: 'Bearer wrong-token' })).status
    expect([await fail(one), await fail(other), await fail(one), await fail(other)]).toEqual([401, 401, 401, 401])
    await expect.poll(() => fail(one)).toBe(429)
    await expect.poll(() => fail(other)).toBe(429)
  })

  it('count failures that happen at once in all of them', async () => {
    const limit = { hooks: { rateLimit: { maxAttempts: 20, windowMs: 60_000, lockoutMs: 60_000 } } }
    const [one, other] = await Promise.all([start(limit), start(limit)])
    const fail = async (gateway: RunningGateway) =>
      (await gateway.post('/hooks/wake', { text: 'x' }, { authorization: 'Bearer wrong-token' })).status
    const listener = new Client({ connectionString: database.url })
    await listener.connect()
    onTestFinished(() => listener.end())
    // The failures are sent together, on a busy machine in several messages.
    const payloads: string[] = []
    listener.on('notification', ({ payload = '' }) => payloads.push(payload))
    await listener.query(`LISTEN ${await channelOf(database.url)}`)
    const failures = Array.from({ length: 19 }, () => fail(one))
    expect(new Set(await Promise.all(failures))).toEqual(new Set([401]))
    await expect.poll(() => payloads.join('').length).toBeGreaterThan(1_000)
    let refused = 0
    while ((await fail(other)) === 401) refused++
    expect(refused).toBeLessThan(10)
    await expect.poll(() => fail(one)).toBe(429)
  })

  it('fire a schedule that one of them was given shortly before it died', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const changes = { storage: { url: own.url } }
    const [one, other] = await Promise.all([startGateway(changes), startGateway(changes)])
    const store = await openStore({ url: own.url, dir: '/nowhere', log: silent })
    const at = Date.now()
    expect(await store.addSchedule(newSchedule({ nextAt: at + 3_000 }), { at, most: 1 })).toBe(true)
    await store.close()
    await one.gateway.close()
    const runs = async () => (await other.get('/api/runs')).body.items.length
    await expect.poll(runs, { timeout: 20_000, interval: 500 }).toBe(1)
  })

  it('have one heartbeat and one connection per account, which the other takes over', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Good morning.' })
    const changes = {
      providers: model.providers,
      agents: { defaults: { heartbeat: { model: 'double/m', target: 'console', to: 'console' } } },
    }
    const one = await start(changes)
    await expect.poll(() => stateOf(one)).toBe('connected')
    const other = await start(changes)
    await expect.poll(() => stateOf(other)).toBe('standby')
    // The wake arrives at the gateway that does not run heartbeats.
    expect((await other.post('/hooks/wake', { text: 'The disk is full.' })).status).toBe(200)
    await expect.poll(() => repliesOf(one)).toEqual(['Good morning.'])
    await one.gateway.close()
    await expect.poll(() => stateOf(other)).toBe('connected')
    expect((await other.post('/hooks/wake', { text: 'The disk is empty.' })).status).toBe(200)
    await expect.poll(() => repliesOf(other)).toEqual(['Good morning.'])
    expect(await repliesOf(one)).toEqual(['Good morning.'])
  })

  it('answer 503 to the platform of an account that the other one has connected', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))
    const changes = { storage: { url: own.url }, plugins: [phone], channels: { phone: { token: 'phone-token' } } }
    const one = await startGateway(changes)
    await one.post('/api/channels/phone/login', {}, { authorization: `Bearer ${gatewayToken}` })
    await expect.poll(() => stateOf(one, 'phone')).toBe('connected')
    const other = await startGateway(changes)
    await expect.poll(() => stateOf(other, 'phone')).toBe('standby')
    const message = { id: 'm1', from: { id: '1' }, to: '1', text: 'hello' }
    const call = (gateway: RunningGateway) => gateway.post('/channels/phone', message, { 'x-signature': 'phone-token' })
    const { status, body, headers } = await call(other)
    expect([status, body.error.type, Number(headers.get('retry-after'))]).toEqual([503, 'channel_unavailable', 5])
    expect((await call(one)).status).toBe(202)
  })

  it('run no periodic heartbeat while the other one is the leader', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const storage = { url: own.url }
    const leader = await startGateway({ storage })
    await expect.poll(() => stateOf(leader)).toBe('connected')
    const model = await startModel()
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const dir = temporaryFolder()
    const workspace = join(dir, 'state', 'workspaces', 'main')
    await mkdir(workspace, { recursive: true })
    await writeFile(join(workspace, 'HEARTBEAT.md'), 'Look at the disk.')
    const heartbeat = { every: '1s', model: 'double/m' }
    await startGateway({ storage, providers: model.providers, agents: { defaults: { heartbeat } } }, dir)
    // Longer than its interval.
    await delay(1_500)
    expect(model.requests).toHaveLength(0)
    await leader.gateway.close()
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBeGreaterThan(0)
  })

  it('fire a schedule once for each of its times', async () => {
    const store = await openStore({ url: database.url, dir: '/nowhere', log: silent })
    onTestFinished(store.close)
    const due = Date.now() - 1_000
    await store.addSchedule(newSchedule({ id: 'hourly', timing: { kind: 'every', ms: 3_600_000 }, nextAt: due }), {
      at: due,
      most: 9,
    })
    await Promise.all([start(), start(), start()])
    const sessionKey = 'agent:main:schedule:hourly'
    const runs = async () => (await store.listRuns({ sessionKey }, { limit: 9 })).items.length
    await expect.poll(runs).toBe(1)
    await expect.poll(async () => (await store.getNextScheduleAt())! > due).toBe(true)
    expect(await runs()).toBe(1)
  })

  it('serve a wake of a gateway that died before it could pass the wake on', async () => {
    const model = await startModel()
    model.otherwise({ text: 'HEARTBEAT_OK' })
    await start({
      providers: model.providers,
      agents: { defaults: { heartbeat: { model: 'double/m' } } },
    })
    const store = await openStore({ url: database.url, dir: '/nowhere', log: silent })
    onTestFinished(store.close)
    // Stored as by another gateway, but without a message to this one.
    await store.accept({
      at: Date.now(),
      events: [newEvent({ sessionKey: 'agent:main:main', text: 'The disk is full.', mode: 'now' })],
    })
    await expect.poll(() => model.requests.length, { timeout: 20_000 }).toBe(1)
    expect(await model.prompt(0)).toContain('The disk is full.')
  })
})

describe('a role that may only connect to the database', () => {
  it('ends no gateway, locks out nobody and lifts no lockout', async () => {
    const limit = {
      gateway: { trustedProxies: ['127.0.0.1'] },
      hooks: { rateLimit: { maxAttempts: 3, windowMs: 60_000, lockoutMs: 60_000 } },
    }
    const [one, other] = await Promise.all([start(limit), start(limit)])
    const gateways = [one, other]
    const fail = async (gateway: RunningGateway, address: string) => {
      const headers = { authorization: 'Bearer wrong-token', 'x-forwarded-for': address }
      return (await gateway.post('/hooks/wake', { text: 'x' }, headers)).status
    }
    const stranger = await createStranger(database.url)
    onTestFinished(stranger.remove)
    const channel = await channelOf(database.url)
    const notify = async (...payloads: unknown[]) => {
      for (const payload of payloads) await query(stranger.url, 'SELECT pg_notify($1, $2)', [channel, payload])
    }
    const messages = (topic: string, item: unknown) => JSON.stringify([{ topic, item }])
    const countIgnored = ({ logged }: RunningGateway) =>
      logged.filter((line) => line.includes('ignored a message')).length
    await notify('not JSON', '', 'null', '{}', '[null]', '[[]]', messages('presence', null), messages('wake', null))
    for (let n = 0; n < 9; n++) await notify(messages('hooks failure', '10.0.0.1'))
    for (const gateway of gateways) await expect.poll(() => countIgnored(gateway)).toBe(1)
    expect(await fail(one, '10.0.0.1')).toBe(401)

    for (let n = 0; n < 3; n++) expect(await fail(one, '10.0.0.2')).toBe(401)
    await expect.poll(() => fail(other, '10.0.0.2')).toBe(429)
    await notify(messages('hooks cleared', '10.0.0.2'))
    for (let n = 0; n < 3; n++) expect(await fail(one, '10.0.0.3')).toBe(401)
    // Messages arrive in order, so the forged one has arrived by now.
    await expect.poll(() => fail(other, '10.0.0.3')).toBe(429)
    for (const gateway of gateways) expect(await fail(gateway, '10.0.0.2')).toBe(429)
    expect(gateways.map(countIgnored)).toEqual([1, 1])
  })
})

describe('a gateway that loses its database', () => {
  const shared = share(async () => {
    const server = await startPostgres()
    closeAtEnd(server.remove)
    return server
  })

  it('answers 503, and continues by itself when the database is back', async () => {
    const server = shared()
    const { url } = await createDatabase(server.url)
    const gateway = await startGateway({ storage: { url } })
    const post = async (text: string) =>
      await gateway.post('/hooks/wake', { text, mode: 'next-heartbeat' }, { 'idempotency-key': text })
    expect((await post('before')).status).toBe(200)
    await server.kill()
    // The processes of open connections outlive the main process for a moment.
    await expect.poll(async () => (await post('during')).status).toBe(503)
    const refused = await post('during')
    expect(refused.body.error.type).toBe('store_unavailable')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await gateway.get('/readyz')).status).toBe(503)
    await server.start()
    await expect.poll(async () => (await post('during')).status).toBe(200)
    expect((await gateway.get('/readyz')).status).toBe(200)
    expect(await query(url, 'SELECT count(*) AS n FROM event')).toEqual([{ n: '2' }])
  })

  const ofLeases = 'stops what it holds a lease for before the lease ends, and continues when the database is back'
  it(ofLeases, { timeout: 60_000 }, async () => {
    const server = shared()
    const { url } = await createDatabase(server.url)
    const model = await startModel()
    model.script({ hang: true }, { text: 'Done.' })
    const gateway = await startGateway({ storage: { url }, providers: model.providers })
    await expect.poll(() => stateOf(gateway)).toBe('connected')
    const body = { message: 'Do it.', model: 'double/m', deliver: false, wakeMode: 'next-heartbeat' }
    const { runId } = (await gateway.post('/hooks/agent', body)).body
    const turn = await model.request(0)
    await server.kill()
    // Otherwise another gateway could start the same turn, or connect the same account, while this one continues.
    await turn.abandoned
    await expect.poll(() => stateOf(gateway), { timeout: 20_000 }).toBe('standby')
    await server.start()
    await expect.poll(() => stateOf(gateway)).toBe('connected')
    await expect.poll(async () => (await gateway.get(`/runs/${runId}`)).body.status).toBe('succeeded')
  })
})

it('a gateway that had no connection for messages tells its clients to read again what they show', async () => {
  const own = await createDatabase(inject('postgresUrl'))
  onTestFinished(own.remove)
  const gateway = await startGateway({ storage: { url: own.url } })
  const client = await login(gateway.url)
  await client.call('subscribe', { topics: ['run', 'log'] })
  expect(client.notifications.filter(({ method }) => method === 'missed')).toEqual([])
  await query(
    own.url,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  expect((await client.until(({ method }) => method === 'missed')).params).toEqual({ topics: ['run'] })
})

it('a reply and an alert of a gateway that lacks their channel are sent by one that gets it', async () => {
  const own = await createDatabase(inject('postgresUrl'))
  onTestFinished(own.remove)
  const model = await startModel()
  model.otherwise((request) =>
    JSON.stringify(messagesOf(request).at(-1)).includes('Fail.') ? { status: 400 } : { text: 'Done.' },
  )
  const changes = {
    storage: { url: own.url },
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    hooks: { onFailure: { channel: 'console' } },
  }
  const old = await startGateway({ ...changes, channels: { console: { enabled: false } } })
  const post = (body: Document) =>
    old.post('/hooks/agent', { wakeMode: 'next-heartbeat', channel: 'console', ...body }, { prefer: 'wait=30' })
  const answers = [await post({ message: 'Go.' }), await post({ message: 'Fail.', deliver: false })]
  expect(answers.map(({ body }) => body.status)).toEqual(['succeeded', 'failed'])
  const waiting = (await old.get('/api/outbox')).body.items as Document[]
  expect(waiting.map(({ status, reason }) => [status, reason])).toEqual(
    waiting.map(() => ['pending', expect.stringContaining('The channel "console" is not configured')]),
  )
  const next = await startGateway(changes)
  await expect
    .poll(async () => (await next.get('/api/outbox')).body.items.map(({ status, to }: Document) => [status, to]))
    .toEqual([
      ['sent', 'console'],
      ['sent', 'console'],
    ])
  expect((await repliesOf(next)).toSorted()).toEqual(['Done.', expect.stringContaining('has a run that failed')])
})

it('a question of a gateway that lacks the channel of its approvers is asked and answered at one that has it', async () => {
  const own = await createDatabase(inject('postgresUrl'))
  onTestFinished(own.remove)
  const changes = { storage: { url: own.url }, hooks: { allowRequestSessionKey: true } }
  const old = await startApprovals(changes, { enabled: false })
  scriptCall(old.model, { target: 'moon' }, 'launch')
  old.model.otherwise({ text: 'Done.' })
  const runId = await old.send('hook:one')
  await old.until(runId, 'waiting')
  const next = await startApprovals(changes, { accounts: { work: {} } })
  next.model.otherwise({ text: 'Done.' })
  await expect.poll(() => next.chat.held, { timeout: 20_000 }).toHaveLength(1)
  const [question] = next.chat.held
  expect([question?.accountId, question?.to, shownArgs(question?.text ?? '')]).toEqual([
    'work',
    'boss',
    { target: 'moon' },
  ])
  expect(await next.say(`approve ${codeIn(question?.text ?? '')}`)).toBe('Approved. The call is made now.')
  await next.until(runId, 'succeeded')
  expect([...old.pad.launches(), ...next.pad.launches()]).toEqual([{ target: 'moon' }])
  await expect
    .poll(() => next.chat.held.filter(({ to }) => to === 'boss').map(({ text }) => text))
    .toEqual([
      expect.stringContaining('An agent asks'),
      expect.stringContaining('was approved by an approver on chat-native'),
      expect.stringContaining('has succeeded'),
    ])
})

async function stateOf(gateway: RunningGateway, name = 'console'): Promise<string> {
  const { accounts } = (await gateway.get('/api/channels')).body
  return accounts.find(({ channel }: { channel: string }) => channel === name).state
}

async function repliesOf({ dir }: RunningGateway): Promise<string[]> {
  const text = await readFile(join(dir, 'console.jsonl'), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { text: string }).text)
}
