// Runs whose starter is removed or narrowed: they end at their next step, and those that wait do not start.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createLaunchPad } from '../approvals/launch-pad.ts'
import { connectRpc } from '../control/rpc-client.ts'
import { startChat } from '../doubles/chat.ts'
import { orders, startObedientModel } from '../doubles/obedient.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { closeAtEnd } from '../share.ts'

const asOwner = { authorization: `Bearer ${gatewayToken}` }
const tokenOf = (name: string): string => `the-token-of-${name}-0123456789-0123456789`
const client = (name: string, more: Document = {}) => ({ name, token: tokenOf(name), role: 'operator', ...more })

/** A toolset whose tool `hold` returns when the test says so. */
async function startHolds(dir: string) {
  const held = new Map<string, ServerResponse>()
  const arrivals = new EventTarget()
  const server = createServer((request, response) => {
    held.set(request.url ?? '', response)
    arrivals.dispatchEvent(new Event('arrival'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeAtEnd(() => (server.closeAllConnections(), server.close()))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const execute = `async ({ by }) => (await fetch(${JSON.stringify(url)} + '/' + by)).text()`
  const tool = `{ name: 'hold', group: 'pad', description: 'Waits.', effects: [], external: 'none', args: { type: 'object' }, execute: ${execute} }`
  writeFileSync(
    join(dir, 'holds.mjs'),
    `export default { kind: 'toolset', name: 'holds', description: 'Holds.', tools: [${tool}] }`,
  )
  return {
    arrived: async (count: number) => {
      while (held.size < count) await once(arrivals, 'arrival')
    },
    release: () => held.forEach((response) => response.end('held')),
  }
}

const open = { requireMention: false }
const groups = { team: open, gone: open, moved: open, others: { ...open, agentId: 'other' } }
const native = { directSession: 'sender', dmPolicy: 'pairing' }

const before = {
  clients: ['stays', 'removed', 'lowered', 'limited', 'expired'].map((name) => client(name)),
  channels: {
    'chat-native': { ...native, allowFrom: ['bob', 'unlisted'], groups },
    'chat-none': { directSession: 'sender', allowFrom: ['bob', 'fired'] },
    'chat-reconcile': { directSession: 'sender', allowFrom: ['bob'], accounts: { one: {}, two: {} } },
  },
}
const after = {
  clients: [
    client('stays'),
    client('lowered', { role: 'viewer' }),
    client('limited', { agents: ['other'] }),
    client('expired', { notAfter: '2020-01-01T00:00:00Z' }),
  ],
  channels: {
    'chat-native': {
      ...native,
      allowFrom: ['bob', '*'],
      groups: { team: open, moved: { ...open, agentId: 'other' } },
    },
    'chat-none': { ...before.channels['chat-none'], allowFrom: ['bob'] },
    'chat-reconcile': { ...before.channels['chat-reconcile'], accounts: { one: {} } },
  },
}

interface Starter {
  kind: 'client' | 'sender'
  name: string
  channel?: keyof typeof before.channels
  group?: string
  account?: string
  /** What ends its runs. Absent: nothing does. */
  ending?: string
}

const starters: readonly Starter[] = [
  { kind: 'client', name: 'own' },
  { kind: 'client', name: 'stays' },
  { kind: 'client', name: 'removed', ending: 'gateway.auth.clients has no client "removed" any more.' },
  {
    kind: 'client',
    name: 'lowered',
    ending: 'The client "lowered" has the role viewer; this needs the role operator.',
  },
  { kind: 'client', name: 'limited', ending: 'The client "limited" may reach only these agents: other.' },
  { kind: 'client', name: 'expired', ending: 'The token of the client "expired" has expired.' },
  { kind: 'sender', name: 'bob' },
  { kind: 'sender', name: 'bob', group: 'team' },
  { kind: 'sender', name: 'bob', group: 'gone', ending: 'The group "gone" on chat-native is closed now.' },
  {
    kind: 'sender',
    name: 'bob',
    group: 'moved',
    ending: 'The agent "other" answers in the group "moved" on chat-native now.',
  },
  { kind: 'sender', name: 'unlisted', ending: 'The sender "unlisted" is a stranger on chat-native now.' },
  { kind: 'sender', name: 'paired', ending: 'The sender "paired" is a stranger on chat-native now.' },
  { kind: 'sender', name: 'bob', channel: 'chat-none' },
  {
    kind: 'sender',
    name: 'fired',
    channel: 'chat-none',
    ending: 'The sender "fired" may not write to the agent on chat-none any more.',
  },
  {
    kind: 'sender',
    name: 'bob',
    channel: 'chat-reconcile',
    account: 'two',
    ending: 'The account "two" of chat-reconcile is not configured any more.',
  },
]

const sessionOf = ({ kind, name, group, channel = 'chat-native' }: Starter): string =>
  kind === 'client'
    ? `agent:main:${name}`
    : `agent:main:${channel}:${group === undefined ? `direct:${name}` : `group:${group}`}`

async function start() {
  const [model, chat, dir] = [await startObedientModel(), await startChat(), temporaryFolder()]
  const holds = await startHolds(dir)
  const pad = createLaunchPad(dir)
  const { plugins } = chat.config(dir, {})
  const document = ({ clients, channels, agents }: { clients: Document[]; channels: Document; agents?: Document }) => ({
    plugins: [...plugins, './pad.mjs', './holds.mjs'],
    providers: model.providers,
    ...pad.document(),
    tools: {
      ask: ['launch'],
      subagents: { maxDepth: 3, maxActive: 30, tools: { allow: ['hold', 'sessions_spawn'] } },
    },
    agents: {
      defaults: { model: 'double/m', heartbeat: { every: 0 }, maxConcurrent: 50 },
      main: {},
      other: {},
      ...agents,
    },
    gateway: { port: 0, auth: { token: gatewayToken, clients } },
    channels: chat.config(dir, channels).channels,
  })
  const gateway = await startGateway(document(before), dir)

  /** Returns what writes in the name of a starter. */
  async function connect({ kind, name, channel, group, account }: Starter): Promise<(text: string) => unknown> {
    if (kind === 'sender') {
      const message = {
        from: { id: name },
        ...(group === undefined ? { to: name } : { to: group, group: 'group' as const }),
      }
      return (text) => chat.say({ ...message, text }, channel, account)
    }
    const rpc = await connectRpc(gateway.url)
    await rpc.call('auth', { token: name === 'own' ? gatewayToken : tokenOf(name) })
    // The reload ends the connection.
    return (text) => void rpc.call('chat.send', { sessionKey: `agent:main:${name}`, text })
  }

  const list = async (query: string) => (await gateway.get(`/api/${query}&limit=200`)).body.items
  /** The runs of each session, oldest first. */
  const runs = async (starter: Starter) => (await list(`runs?sessionKey=${sessionOf(starter)}`)).toReversed()
  return { ...gateway, chat, pad, holds, connect, runs, list, document }
}

const all = async <Result>(work: (starter: Starter) => Promise<Result>): Promise<Result[]> =>
  await Promise.all(starters.map(work))

it('end at the next step when their starter is removed or narrowed, and no call of them is made', async () => {
  const { chat, pad, holds, connect, runs, list, document, ...gateway } = await start()
  await chat.say({ from: { id: 'paired' }, to: 'paired' })
  const [, code] = /\b([A-HJ-NP-Z2-9]{8})\b/.exec((await chat.holds(1, 'paired'))[0]!.text)!
  await gateway.post(`/api/pairings/${code}/approve`, {}, asOwner)
  const writers = await all(connect)
  const say = (text: (by: string) => string) =>
    all(async (starter) => writers[starters.indexOf(starter)]!(text(sessionOf(starter))))

  const statuses = () => all(async (starter) => (await runs(starter)).map(({ status }: { status: string }) => status))
  const everywhere = (...expected: string[]) => starters.map(() => expected)
  await say((by) => orders([{ tool: 'launch', args: { by } }]))
  await expect.poll(statuses).toEqual(everywhere('waiting'))
  await say((by) => orders([{ tool: 'hold', args: { by } }], [{ tool: 'look', args: {} }]))
  await holds.arrived(starters.length)
  await say(() => 'Later.')
  await expect.poll(statuses).toEqual(everywhere('waiting', 'running', 'queued'))

  const revoked = { channel: 'chat-native', sender: 'paired' }
  expect((await gateway.post('/api/pairings/revoke', revoked, asOwner)).status).toBe(200)
  await reconfigure({ ...gateway }, document(after))
  holds.release()
  for (const { id } of await list('approvals?status=waiting'))
    expect((await gateway.post(`/api/approvals/${id}/approve`, {}, asOwner)).status).toBe(200)
  const results = () =>
    all(async (starter) => (await runs(starter)).map(({ status, error }: Document) => (error ? error : status)))
  const failed = (message: string) => ({ type: 'rights_removed', message })
  await expect
    .poll(results, { timeout: 10_000 })
    .toEqual(starters.map(({ ending }) => Array(3).fill(ending === undefined ? 'succeeded' : failed(ending))))
  const allowed = starters.filter(({ ending }) => ending === undefined).map(sessionOf)
  expect(
    pad
      .launches()
      .map((args) => (args as { by: string }).by)
      .toSorted(),
  ).toEqual(allowed.toSorted())
  const tools = async (starter: Starter) => {
    const { items } = (await gateway.get(`/runs/${(await runs(starter))[1].id}/steps`)).body
    return items.filter(({ kind }: Document) => kind === 'tool').length
  }
  expect(await all(tools)).toEqual(starters.map(({ ending }) => (ending === undefined ? 2 : 1)))
  expect(chat.held.filter(({ text }) => text.startsWith('I could not answer'))).toEqual([])
})

it('end also when tools of those runs have started them, directly or through subagents and schedules', async () => {
  const { chat, holds, list, document, ...gateway } = await start()
  const say = (from: string, text: string) => chat.say({ from: { id: from }, to: from, text }, 'chat-none')
  const spawn = (task: string) => orders([{ tool: 'sessions_spawn', args: { task } }])
  const plan = { action: 'add', message: 'Look.', at: new Date(Date.now() + 3_600_000).toISOString(), deliver: false }
  for (const by of ['bob', 'fired']) {
    await say(by, spawn(spawn(orders([{ tool: 'hold', args: { by } }]))))
    await say(by, orders([{ tool: 'cron', args: { ...plan, name: by } }]))
  }
  await holds.arrived(2)
  await expect.poll(() => list('schedules?')).toHaveLength(2)
  await reconfigure({ ...gateway }, document(after))
  holds.release()
  for (const { id } of await list('schedules?'))
    await gateway.post('/tools/invoke', { tool: 'cron', args: { action: 'run', id } }, asOwner)
  const ended = async (kind: string) =>
    (await list(`runs?kind=${kind}`)).map(({ status, error }: Document) => (error ? (error as Error).message : status))
  const lost = starters.find(({ name }) => name === 'fired')!.ending!
  await expect.poll(async () => (await ended('schedule')).toSorted()).toEqual([lost, 'succeeded'])
  await expect.poll(async () => (await ended('subagent')).toSorted()).toEqual([lost, ...Array(3).fill('succeeded')])
  const { events } = (await gateway.get('/api/sessions/main')).body
  expect(events.map(({ text }: Document) => text)).toEqual([expect.stringMatching(/^Schedule bob: /)])
})

it('go on without the tools that a reload has taken away from their client, group or agent', async () => {
  const { pad, holds, connect, list, document, ...gateway } = await start()
  const deny = { deny: ['look', 'launch'] }
  const native = before.channels['chat-native']
  const narrowed = {
    clients: [client('stays', { tools: deny })],
    channels: {
      ...before.channels,
      'chat-native': { ...native, groups: { ...groups, team: { ...open, tools: deny } } },
    },
    agents: { other: { tools: deny } },
  }
  const writers = await Promise.all([
    connect({ kind: 'client', name: 'own' }),
    connect({ kind: 'client', name: 'stays' }),
    connect({ kind: 'sender', name: 'bob', group: 'team' }),
    connect({ kind: 'sender', name: 'bob', group: 'others' }),
  ])
  const say = (tool: string, ...more: string[]) =>
    writers.map((write, by) => write(orders(...[tool, ...more].map((name) => [{ tool: name, args: { by } }]))))
  say('launch')
  await expect.poll(() => list('approvals?status=waiting')).toHaveLength(4)
  say('hold', 'look')
  await holds.arrived(4)
  await reconfigure({ ...gateway }, document(narrowed))
  holds.release()
  for (const { id } of await list('approvals?status=waiting'))
    await gateway.post(`/api/approvals/${id}/approve`, {}, asOwner)
  const replies = async () => (await list('runs?status=succeeded')).map(({ reply }: Document) => reply)
  await expect.poll(async () => (await replies()).length).toBe(8)
  const refused = (await replies()).filter((reply: string) => /no tool with this name|not available/.test(reply))
  expect([refused.length, pad.launches()]).toEqual([6, [{ by: 0 }]])
})
