// Tests that every status in the OpenAPI document occurs. The recorder of each test gateway checks that no other does.
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { ask, type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const still = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

/** A tool that fails or hangs, as its argument says. */
const plugin = `
import { defineTool, defineToolset, Type } from 'svc-gateway/plugin'
const behave = { break: () => { throw new Error('broken') }, hang: () => new Promise(() => undefined) }
const args = Type.Object({ how: Type.Enum(['break', 'hang']) })
const execute = ({ how }) => behave[how]()
export default defineToolset({ name: 'moody', description: 'Breaks or hangs.', tools: [
  defineTool({ name: 'moody', description: 'Breaks or hangs.', args, execute }),
] })`

async function start(
  changes: Document = {},
): Promise<RunningGateway & { chat: Chat; operate: RunningGateway['post'] }> {
  const dir = temporaryFolder()
  const chat = await startChat()
  const { plugins, channels } = chat.config(dir, { 'chat-none': {}, 'chat-native': { dmPolicy: 'pairing' } })
  const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))
  writeFileSync(join(dir, 'moody.mjs'), plugin)
  const running = await startGateway(
    {
      plugins: [...plugins, './moody.mjs', phone],
      channels: { ...channels, phone: { token: 'phone-token' } },
      agents: still,
      tools: { timeoutSeconds: 1, byOrigin: { hook: { ask: ['moody'] } } },
      ...changes,
    },
    dir,
  )
  return { ...running, chat, operate: (path, body, headers) => running.post(path, body, { ...operator, ...headers }) }
}

/** Of a run that is running, of one that has ended, and once more. */
async function deleteSessions({ url, get, post }: RunningGateway, running: string): Promise<void> {
  const busy = (await get(`/runs/${running}`)).body.sessionKey as string
  const ended = (await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=20' })).body.sessionKey
  for (const key of [busy, ended, ended])
    await ask(`${url}/api/sessions/${encodeURIComponent(key)}`, { method: 'DELETE', headers: operator })
}

/** `GET /runs/:id 404`, for every status that a route itself names. */
async function promised({ get }: RunningGateway): Promise<string[]> {
  const { paths } = (await get('/openapi.json')).body as {
    paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
  }
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { $ref }]) =>
        $ref ? [] : `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')} ${status}`,
      ),
    ),
  )
}

describe('the statuses of the document', () => {
  it('of each route all occur', async () => {
    const model = await startModel()
    model.script({ hang: true }, { status: 400 }, { text: 'done' })
    const gateway = await start({ providers: model.providers })
    const { runId } = (await gateway.post('/hooks/agent', { message: 'hi', model: 'double/m', ...quiet })).body
    await model.request(0)
    await deleteSessions(gateway, runId)
    await gateway.operate(`/api/runs/${runId}/cancel`, {})
    const failed = (
      await gateway.post('/hooks/agent', { message: 'hi', model: 'double/m', ...quiet }, { prefer: 'wait=20' })
    ).body.runId
    for (const id of [failed, failed, 'nobody']) await gateway.operate(`/api/runs/${id}/retry`, {})
    await askEverything(gateway)
    for (const verb of ['approve', 'deny']) await answerTwice(gateway, model, verb)
    const upgraded = 'GET /ws 101'
    await new Promise((resolve) => {
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`)
      socket.addEventListener('open', () => {
        socket.close()
        resolve(socket)
      })
    })
    const gateways = [
      await lockOut(),
      await switchOff(),
      await sendSamples(),
      await useConfigFile(),
      await answerLogin(),
    ]
    const others = gateways.flatMap(({ answers }) => Array.from(answers))
    const answered = new Set([...gateway.answers, ...others, upgraded])
    expect((await promised(gateway)).filter((one) => !answered.has(one))).toEqual([])
  })

  it('that routes share all occur, except 408, which the server tests cover', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const gateway = await start({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      hooks: { maxQueuedRuns: 1, defaultSessionKey: 'one' },
      gateway: { auth: { token: gatewayToken, rateLimit: { maxAttempts: 1, exemptLoopback: false } }, drainSeconds: 0 },
    })
    const { post, get, operate } = gateway
    await post('/hooks/agent', { message: 'a', ...quiet })
    await model.request(0)
    for (const message of ['b', 'c']) await post('/hooks/agent', { message, ...quiet })
    await get('/api/runs?token=x')
    await operate('/api/runs', {})
    await operate('/tools/explain', 'x'.repeat(3_000_000))
    await operate('/tools/explain', {}, { 'content-encoding': 'gzip' })
    await get('/api/runs', Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, '1'])))
    for (let n = 0; n < 2; n++) await get('/api/runs', { authorization: 'Bearer wrong' })
    const statuses = new Set([...gateway.answers].map((answer) => answer.split(' ')[2]))
    expect([...statuses]).toEqual(expect.arrayContaining(['400', '401', '405', '413', '415', '429', '431', '503']))
  })
})

/** Lets a call wait for its approval, and answers it twice. */
async function answerTwice(
  { post, get, operate }: Awaited<ReturnType<typeof start>>,
  model: ModelServer,
  verb: string,
) {
  model.script({ tool: 'moody', args: { how: 'break' } }, { text: 'done' })
  const { runId } = (await post('/hooks/agent', { message: 'hi', model: 'double/m', ...quiet })).body
  const waiting = async () => (await get(`/api/approvals?runId=${runId}`)).body.items
  await expect.poll(waiting).toHaveLength(1)
  const [{ id }] = await waiting()
  for (const one of [id, 'nothing']) await get(`/api/approvals/${one}`)
  for (const one of [id, id, 'nothing']) await operate(`/api/approvals/${one}/${verb}`, {})
  await expect.poll(async () => (await get(`/runs/${runId}`)).body.status).toBe('succeeded')
}

/** A code for the page is an attempt, too. */
async function lockOut(): Promise<RunningGateway> {
  const rateLimit = { maxAttempts: 1, exemptLoopback: false }
  const gateway = await startGateway({ gateway: { auth: { token: gatewayToken, rateLimit } } })
  for (const code of ['wrong', 'wrong']) await gateway.post('/page/sign-in', { code })
  return gateway
}

async function switchOff(): Promise<RunningGateway> {
  const gateway = await startGateway({ gateway: { page: false }, hooks: { enabled: false } })
  await gateway.post('/api/page/link', {}, operator)
  await gateway.post('/api/hooks/preview', { mapping: '{}', body: '{}' }, operator)
  await gateway.post('/api/hooks/import-curl', { command: 'curl' }, operator)
  await gateway.get('/api/presets/github/samples')
  return gateway
}

/** A file that cannot be read, one that has changed, and one that is saved, which builds new routes. */
async function useConfigFile(): Promise<RunningGateway> {
  const gateway = await startGateway({ agents: still })
  const { dir, get, post } = gateway
  const { text, etag } = (await get('/api/config/file')).body
  const save = (tag: string) => post('/api/config/file', { text }, { ...operator, 'if-match': tag })
  await post('/api/config/check', { text }, operator)
  await post('/api/config/edit', { text, edits: [{ path: ['log', 'level'], value: 'info' }] }, operator)
  const [file, moved] = [join(dir, 'gateway.json5'), join(dir, 'moved.json5')]
  renameSync(file, moved)
  await get('/api/config/file')
  await save(etag)
  renameSync(moved, file)
  for (const tag of ['"other"', etag]) await save(tag)
  return gateway
}

/** Of a login that asks for a password. */
async function answerLogin(): Promise<RunningGateway> {
  const gateway = await start({ channels: { phone: { token: 'ask-in-a-browser' } } })
  const { get, operate } = gateway
  await operate('/api/channels/phone/login', {})
  const question = async () => (await get('/api/channels/phone/login')).body.question?.id
  await expect.poll(question).toBeDefined()
  await operate('/api/channels/phone/login/answer', { questionId: await question(), answer: 'a password' })
  return gateway
}

/** Of a preset that is enabled, of one that is not, and of none. */
async function sendSamples(): Promise<RunningGateway> {
  const gateway = await startGateway({ agents: still, hooks: { presets: ['grafana'], grafana: { deliver: false } } })
  for (const preset of ['grafana', 'uptimerobot', 'nothing']) {
    const { items } = (await gateway.get(`/api/presets/${preset}/samples`)).body
    await gateway.post(`/api/presets/${preset}/samples/${items?.[0].name ?? 'nothing'}/send`, {}, operator)
  }
  return gateway
}

/** One request for every status that a route names. */
async function askEverything({ chat, post, get, operate, url }: Awaited<ReturnType<typeof start>>): Promise<void> {
  for (const path of [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/api/extensions',
    '/api/me',
    '/api/config',
    '/api/config/warnings',
    '/api/clients',
    '/api/gateways',
    '/api/config/schema',
    '/tools',
    '/api/requests',
    '/api/hooks',
    '/api/runs',
    '/api/schedules',
    '/api/budgets',
    '/api/usage',
    '/api/usage?per=year',
    '/api/audit',
    '/api/sessions',
    '/api/outbox',
    '/api/pairings',
    '/api/channels',
    '/api/channels/phone/login',
    '/api/transforms',
    '/api/panels',
  ])
    await get(path)
  for (const path of ['/docs', '/docs/page.js', '/docs/nothing', '/metrics'])
    await (await fetch(url + path, { headers: operator })).text()

  const index = await fetch(`${url}/`)
  const [file] = /page\/[\w.-]+\.js/.exec(await index.text()) ?? []
  await fetch(`${url}/`, { headers: { 'if-none-match': index.headers.get('etag') ?? '' } })
  for (const path of [file, 'page/nothing.js']) await (await fetch(`${url}/${path}`)).text()
  const bridge = await fetch(`${url}/page/panels/panel.js`)
  await fetch(bridge.url, { headers: { 'if-none-match': bridge.headers.get('etag') ?? '' } })
  await fetch(`${url}/page/panels/nothing.js`)
  const { path } = (await operate('/api/page/link', {})).body
  await post('/page/sign-in', { code: path.replace('/#code=', '') })

  await operate('/api/hooks/preview', { mapping: '{}', body: '{}' })
  for (const hook of ['wake', 'nowhere'])
    await operate(`/api/hooks/${hook}/send`, { body: { text: 'hi', mode: 'next-heartbeat' } })
  await operate('/api/hooks/import-curl', { command: `curl -d '{}' x` })

  const key = { 'idempotency-key': 'k' }
  for (const text of ['one', 'two']) await post('/hooks/wake', { text, mode: 'next-heartbeat' }, key)
  chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'No such room.' } })
  const { runId, sessionKey } = (
    await post(
      '/hooks/agent',
      { message: 'hi', channel: 'chat-none', to: 'room', wakeMode: 'next-heartbeat' },
      { ...key, prefer: 'wait=30' },
    )
  ).body
  await post('/hooks/agent', { message: 'other' }, key)

  for (const id of [runId, 'nothing']) {
    await get(`/runs/${id}`)
    await get(`/runs/${id}/steps`)
    await operate(`/api/runs/${id}/cancel`, {})
  }
  for (const session of [sessionKey, 'agent:main:nobody']) await get(`/api/sessions/${encodeURIComponent(session)}`)

  const [{ id: request }] = (await get('/api/requests?hook=wake&status=accepted')).body.items
  for (const id of [request, 'nothing']) {
    await get(`/api/requests/${id}`)
    await operate(`/api/requests/${id}/replay`, { dryRun: true })
  }
  await post('/hooks/nowhere', {})
  const unknown = async () => (await get('/api/requests?hook=nowhere')).body.items
  await expect.poll(async () => (await unknown()).length).toBe(1)
  await operate(`/api/requests/${(await unknown())[0].id}/replay`, {})

  await expect.poll(async () => (await get('/api/outbox?status=failed')).body.items.length).toBe(1)
  for (const id of [`${runId}:0`, `${runId}:0`, 'nothing']) {
    await get(`/api/outbox/${id}`)
    await operate(`/api/outbox/${id}/retry`, {})
    await chat.attempted(2)
  }

  await chat.say({ from: { id: 'ann' } })
  const [{ code }] = (await get('/api/pairings')).body.items
  for (const one of [code, 'nothing']) await operate(`/api/pairings/${one}/approve`, {})
  for (let n = 0; n < 2; n++) await operate('/api/pairings/revoke', { channel: 'chat-native', sender: 'ann' })

  const invoke = (tool: string, args = {}) => operate('/tools/invoke', { tool, args })
  for (const call of [
    invoke('session_status'),
    invoke('nothing'),
    invoke('moody', { how: 'break' }),
    invoke('moody', { how: 'hang' }),
  ])
    await call
  await operate('/tools/explain', { tool: 'moody' })

  await operate('/api/channels/none/check', { to: 'ann' })
  await operate('/api/channels/chat-none/check', { to: 'ann' })
  await operate('/api/channels/phone/logout', {})
  await operate('/api/channels/phone/login', {})
  await operate('/api/channels/phone/login/answer', { questionId: 'none', answer: 'none' })
  await operate('/api/channels/phone/login/cancel', {})
  await operate('/api/channels/phone/login', {})
  const linked = async () => (await get('/api/channels/phone/login')).body.status
  await expect.poll(linked).toBe('linked')
  await operate('/api/channels/phone/logout', {})

  const mcp = (body: object, headers = {}) =>
    operate('/mcp', { jsonrpc: '2.0', ...body }, { accept: 'application/json, text/event-stream', ...headers }).catch(
      () => undefined,
    )
  await mcp({ method: 'notifications/initialized' })
  await mcp({ id: 1, method: 'ping' })
  await mcp({ id: 1, method: 'ping' }, { origin: 'https://elsewhere.example' })
  await get('/ws')
  await get('/ws', { origin: 'https://elsewhere.example' })
}
