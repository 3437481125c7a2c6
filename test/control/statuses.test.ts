// Tests that every status in the OpenAPI document occurs. The recorder of each test gateway checks that no other does.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'

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
      tools: { timeoutSeconds: 0.2 },
      ...changes,
    },
    dir,
  )
  return { ...running, chat, operate: (path, body, headers) => running.post(path, body, { ...operator, ...headers }) }
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
    await gateway.operate(`/api/runs/${runId}/cancel`, {})
    const failed = (
      await gateway.post('/hooks/agent', { message: 'hi', model: 'double/m', ...quiet }, { prefer: 'wait=20' })
    ).body.runId
    for (const id of [failed, failed, 'nobody']) await gateway.operate(`/api/runs/${id}/retry`, {})
    await askEverything(gateway)
    const upgraded = 'GET /ws 101'
    await new Promise((resolve) => {
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`)
      socket.addEventListener('open', () => {
        socket.close()
        resolve(socket)
      })
    })
    const answered = new Set([...gateway.answers, upgraded])
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

/** One request for every status that a route names. */
async function askEverything({ chat, post, get, operate, url }: Awaited<ReturnType<typeof start>>): Promise<void> {
  for (const path of [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/api/extensions',
    '/api/config',
    '/tools',
    '/api/requests',
    '/api/hooks',
    '/api/runs',
    '/api/schedules',
    '/api/sessions',
    '/api/outbox',
    '/api/pairings',
    '/api/channels',
    '/api/channels/phone/login',
  ])
    await get(path)
  for (const path of ['/docs', '/docs/page.js', '/docs/nothing', '/metrics'])
    await (await fetch(url + path, { headers: operator })).text()

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

  await operate('/api/channels/phone/logout', {})
  await operate('/api/channels/phone/login', {})
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
