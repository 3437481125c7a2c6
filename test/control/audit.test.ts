// Tests the audit log: every change by a client, an agent, a sender or the file has an entry, and so has a refusal.
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import {
  type Document,
  gatewayToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
  writeConfig,
} from '../helpers.ts'
import { login } from './rpc-client.ts'

const own = { authorization: `Bearer ${gatewayToken}` }
const tokens = {
  viewer: 'token-of-the-viewer-0123456789',
  operator: 'token-of-the-operator-0123456789',
  past: 'token-of-the-past-0123456789',
}
const clients = [
  { name: 'eve', role: 'viewer', token: tokens.viewer },
  { name: 'anna', role: 'operator', token: tokens.operator, tools: { deny: ['agents_list'] } },
  { name: 'old', role: 'admin', token: tokens.past, notAfter: '2020-01-01T00:00:00Z' },
]
const as = (name: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[name]}` })
const gatewayAuth = { auth: { token: gatewayToken, clients } }

const start = async (changes: Document = {}, dir = temporaryFolder()): Promise<RunningGateway> =>
  await startGateway({ gateway: gatewayAuth, ...changes }, dir)

async function readAudit({ get }: RunningGateway, query = '') {
  const { items } = (await get(`/api/audit${query}`)).body as { items: Entry[] }
  return items.toReversed()
}

interface Entry {
  actor: { kind: string; name: string; runId?: string }
  via: string
  action: string
  target?: string
  agentId?: string
  outcome: string
  reason?: string
}

const short = ({ actor, via, action, target, outcome, reason }: Entry): string =>
  [actor.name, via, action, target ?? '-', reason === undefined ? outcome : `${outcome}:${reason}`].join(' ')

describe('the audit log', () => {
  it('has what clients change, each change once, and what they may not change', async () => {
    const model = await startModel()
    model.script({ hang: true }, { status: 400 }, { status: 400 }, { text: 'ok' })
    const running = await start({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    const { post, get } = running
    const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
    const operate = (path: string, body: object = {}) => post(path, body, as('operator'))
    const { runId } = (await post('/hooks/agent', { message: 'hi', ...quiet })).body
    await model.request(0)
    await operate(`/api/runs/${runId}/cancel`)
    await expect.poll(async () => (await get(`/runs/${runId}`)).body.status).toBe('cancelled')
    const failed = (await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=20' })).body.runId
    const retried = (await operate(`/api/runs/${failed}/retry`)).body.runId
    await operate(`/api/runs/${failed}/retry`)
    await expect.poll(async () => (await get(`/runs/${retried}`)).body.status).toBe('failed')
    const [{ id: requestId }] = (await get('/api/requests')).body.items
    await operate(`/api/requests/${requestId}/replay`, { dryRun: true })
    await operate(`/api/requests/${requestId}/replay`)
    await operate('/tools/invoke', { tool: 'cron', args: { action: 'list' } })
    await operate('/tools/invoke', { tool: 'sessions_list' })
    await operate('/tools/invoke', { tool: 'agents_list' })
    await operate('/api/pairings/revoke', { channel: 'console', sender: 'nobody' })
    for (let times = 0; times < 3; times++) await post(`/api/runs/${runId}/cancel`, {}, as('viewer'))
    await operate('/api/channels/console/login')
    expect((await get('/api/runs', as('past'))).body.error).toEqual({
      type: 'unauthorized',
      message: 'The token of this client has expired; ask for a new one.',
    })
    expect((await readAudit(running)).map(short)).toEqual([
      `anna http run.cancel ${runId} done`,
      `anna http run.retry ${failed} done`,
      `anna http run.retry ${failed} failed:conflict`,
      `anna http request.replay ${requestId} done`,
      'anna http tool.invoke cron done',
      'anna http tool.invoke agents_list refused:tool_not_available',
      'anna http pairing.revoke - failed:pairing_not_found',
      `eve http run.cancel ${runId} refused:forbidden`,
      'anna http channel.login console refused:forbidden',
    ])
    expect((await readAudit(running, '?actor=eve')).map(short)).toEqual([
      `eve http run.cancel ${runId} refused:forbidden`,
    ])
    expect(await readAudit(running, '?outcome=done&action=run.retry')).toMatchObject([
      { agentId: 'main', target: failed },
    ])
    const texts = JSON.stringify(await readAudit(running))
    for (const secret of [gatewayToken, ...Object.values(tokens), 'message']) expect(texts).not.toContain(secret)
  })

  it('has the requests of clients that start nothing', async () => {
    const news = { match: { path: 'news' }, messageTemplate: 'News', skip: { payload: { spam: true } } }
    const running = await start({ hooks: { mappings: [news] } })
    const operate = (path: string, body: object) => running.post(path, body, as('operator'))
    const { requestId, skipped } = (await operate('/api/hooks/news/send', { body: { spam: true } })).body
    await operate(`/api/requests/${requestId}/replay`, { dryRun: true })
    const replayed = (await operate(`/api/requests/${requestId}/replay`, {})).body
    expect([skipped, replayed.skipped]).toEqual([true, true])
    expect((await readAudit(running)).map(short)).toEqual([
      'anna http request.send news done',
      `anna http request.replay ${requestId} done`,
    ])
  })

  it('has chats and calls over the WebSocket, and what an agent does with its tools', async () => {
    const model = await startModel()
    const schedule = { action: 'add', message: 'Look.', every: '1h', deliver: false }
    model.script({ tool: 'cron', args: schedule }, { text: 'done' })
    const running = await start({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    const client = await login(running.url)
    await client.call('auth', { token: tokens.operator })
    const { runId } = (await client.call('chat.send', { text: 'Do it' })).result
    await client.call('tools.invoke', { tool: 'cron', args: { action: 'list' } })
    await client.call('auth', { token: tokens.viewer })
    await client.call('chat.send', { text: 'Do it' })
    const { items } = (await running.get('/api/schedules')).body
    expect((await readAudit(running)).map(short)).toEqual([
      `anna websocket chat.send ${runId} done`,
      `main tool schedule.add ${items[0].id} done`,
      'anna websocket tool.invoke cron done',
      'eve websocket chat.send - refused:forbidden',
    ])
    expect((await readAudit(running, '?actor=main'))[0]?.actor).toEqual({ kind: 'agent', name: 'main', runId })
    expect((await running.get(`/runs/${runId}`)).body.origin).toMatchObject({ kind: 'chat', client: 'anna' })
  })

  it('has the changes of the configuration by the tool and by the file', async () => {
    const dir = temporaryFolder()
    const running = await start({ gateway: { ...gatewayAuth, tools: { allow: ['gateway'] } } }, dir)
    const patch = { session: { historyTurns: 7 } }
    const change = { tool: 'gateway', args: { action: 'config.patch', patch } }
    const refused = await running.post('/tools/invoke', change, as('operator'))
    expect(refused.body.error.type).toBe('tool_not_available')
    expect((await running.post('/tools/invoke', change, own)).status).toBe(200)
    await running.gateway.reload()
    writeConfig(dir, { gateway: { port: 'none' } })
    await expect(running.gateway.reload()).rejects.toThrow('gateway.port')
    expect((await readAudit(running)).map(short)).toEqual([
      'anna http tool.invoke gateway refused:tool_not_available',
      'gateway http config.change session.historyTurns done',
      'gateway http tool.invoke gateway done',
      'configuration file file config.reload - done',
      'configuration file file config.reload - failed:failed',
    ])
  })

  it('explains which list of a client denies a tool, also in its chats', async () => {
    const model = await startModel()
    model.script({ text: 'hello' })
    const running = await start({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    const { layers } = (await running.post('/tools/explain', { tool: 'agents_list' }, as('operator'))).body
    expect(layers).toContainEqual({
      layer: 'client',
      verdict: 'deny',
      rule: 'gateway.auth.clients.anna.tools.deny: "agents_list"',
    })
    const client = await login(running.url)
    await client.call('auth', { token: tokens.operator })
    await client.call('chat.send', { text: 'Hi' })
    const { body } = await model.request(0)
    const names = (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name)
    expect(names).toContain('sessions_list')
    expect(names).not.toContain('agents_list')
    expect(names).not.toContain('gateway')
  })

  it('has the commands of senders', async () => {
    const dir = temporaryFolder()
    const chat = await startChat()
    const { plugins, channels } = chat.config(dir, { 'chat-none': { allowFrom: ['bea'] } })
    const model = await startModel()
    model.script({ hang: true })
    const running = await start(
      {
        plugins,
        channels,
        providers: model.providers,
        agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      },
      dir,
    )
    await chat.say({ id: '1', from: { id: 'bea' }, to: 'bea', text: 'Work' }, 'chat-none')
    await model.request(0)
    await chat.say({ id: '2', from: { id: 'bea' }, to: 'bea', text: '/stop' }, 'chat-none')
    const read = async () => (await readAudit(running)).map(({ actor, via, action }) => [actor, via, action])
    await expect.poll(read).toEqual([[{ kind: 'sender', name: 'bea' }, 'channel', 'run.cancel']])
  })
})
