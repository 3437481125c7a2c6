// Runs sequences of `sequence.ts` on a gateway, and compares each call that was really made with an oracle
// that knows only the marks of authors which the model has seen.
import { setTimeout as delay } from 'node:timers/promises'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startMcpServer } from '../../doubles/mcp.ts'
import type { ModelServer } from '../../doubles/model.ts'
import type { Answer, WireRequest } from '../../doubles/wire.ts'
import { connectRpc, type RpcClient } from '../../control/rpc-client.ts'
import {
  type Document,
  gatewayToken,
  hookToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
} from '../../helpers.ts'
import { createRandom, type Event, pick, probes, type Probe, type Random, type Sequence } from './sequence.ts'

/** A broken promise: which call was made, or which text went where, although the model had seen these marks. */
export interface Violation {
  seed: number
  what: string
  saw: readonly string[]
}

/** What the sequences have shown: a test that never sees a call proves nothing. */
export interface Report {
  violations: Violation[]
  requests: number
  /** Calls of probes that were made. */
  made: number
  /** Calls of probes that the oracle forbids. None of them may be made unless a person approves it. */
  forbidden: number
  approved: number
}

/** The plugin of the world: probes, a reader, a sender, a page from outside, a channel of strangers. */
const plugin = `
import { channel } from 'node:diagnostics_channel'
import { defineChannel, defineToolset, Type } from 'svc-gateway/plugin'
const say = (name, message) => channel('test:provenance:' + name).publish(message)
const Args = Type.Object({ tag: Type.String(), text: Type.Optional(Type.String()) })
const tool = (name, more, answer) => ({
  name, description: 'A probe.', args: Args, external: 'none', effects: [], ...more,
  execute: ({ tag }, { runId }) => { say('call', { tool: name, tag, runId }); return answer?.(tag) ?? 'done' },
})
const of = (tag, mark) => '«' + tag.split('.')[0] + ':' + mark + '»'
export default [
  defineToolset({ name: 'probes', description: 'Probes.', tools: [
    ...${JSON.stringify(probes)}.map((name) => tool(name, {})),
    tool('recall', { effects: ['reads-private'] }, (tag) => of(tag, 'private')),
    tool('send_out', { effects: ['sends'] }),
    tool('page', { external: 'result' }, (tag) => of(tag, 'page')),
  ] }),
  defineChannel({
    name: 'street', description: 'Strangers.', config: Type.Object({}), target: Type.String(),
    limits: { maxText: 100_000, idempotency: 'native' },
    connect: async (_, { accountId, receive }) => {
      say('connected', { accountId, receive })
      return { send: async ({ to, text }) => { say('sent', { to, text }); return { outcome: 'sent' } }, close: async () => undefined }
    },
  }),
]`

interface Seen {
  slot: Slot
  agent: number
  /** How many events of the sequence had begun. */
  event: number
  tool: string
  marks: ReadonlySet<string>
}

interface Slot {
  id: string
  sequence: Sequence
  anna: RpcClient
  random: Random
  /** How many events have begun. */
  event: number
  /** How many runs the model may still start for the event that is under way. */
  handOffs: number
  answer: 'deny' | 'call' | 'turn'
}

interface World {
  running: RunningGateway
  sequences: readonly Sequence[]
  owner: RpcClient
  slots: readonly Slot[]
  report: Report
  seen: Map<string, Seen>
  receivers: Map<string, (message: object) => Promise<unknown>>
  /** The tags of approved calls, the runs that a person has approved, and the agents and events of these runs. */
  approved: Set<string>
  /** Resolves when no run of the slot is under way. */
  idle(slot: Slot): Promise<void>
}

/** Runs the sequences at the same time, each with three agents of its own. */
export async function runSequences(model: ModelServer, sequences: readonly Sequence[]): Promise<Report> {
  const report: Report = { violations: [], requests: 0, made: 0, forbidden: 0, approved: 0 }
  const receivers: World['receivers'] = new Map()
  const [seen, approved]: [World['seen'], World['approved']] = [new Map(), new Set()]
  const made: { tool: string; tag: string; runId: string }[] = []
  const listeners = {
    connected: (message: unknown) => {
      const { accountId, receive } = message as { accountId: string; receive: (message: object) => Promise<unknown> }
      receivers.set(accountId, receive)
    },
    call: (message: unknown) => void made.push(message as (typeof made)[number]),
    sent: (message: unknown) => {
      const { to, text } = message as { to: string; text: string }
      if (to.startsWith('stranger')) judgeText({ report, sequences }, text, 'a stranger')
    },
  }
  for (const [name, listen] of Object.entries(listeners)) subscribe(`test:provenance:${name}`, listen)
  const remote = await startMcpServer({
    tools: { look: 'A text of «all:described».' },
    call: ({ tag = '' }) => {
      made.push({ tool: 'far__look', tag, runId: '' })
      return `«${tag.split('.')[0]}:remote»`
    },
  })
  const running = await startWorld({ model, remote: remote.url, sequences })
  const owner = await connect(running, gatewayToken)
  const slots = await Promise.all(
    sequences.map(async (sequence, index): Promise<Slot> => ({
      id: `s${index}`,
      sequence,
      anna: await connect(running, tokenOf(index)),
      random: createRandom(sequence.seed ^ 0x5eed),
      event: 0,
      handOffs: 0,
      answer: 'deny',
    })),
  )
  const ended = new AbortController()
  const idle = watchIdle(running, ended.signal)
  const world: World = { running, sequences, owner, slots, report, seen, receivers, approved, idle }
  model.otherwise((request) => answer(world, request))
  const answering = answerApprovals(world, ended.signal)
  await Promise.all(slots.map((slot) => runSequence(world, slot)))
  ended.abort()
  await answering
  for (const { socket } of [owner, ...slots.map(({ anna }) => anna)]) socket.terminate()
  await running.gateway.close()
  remote.close()
  for (const [name, listen] of Object.entries(listeners)) unsubscribe(`test:provenance:${name}`, listen)
  for (const call of made) judgeCall(world, call)
  report.requests = model.requests.length
  model.requests.length = 0
  return report
}

const tokenOf = (index: number): string => `token-of-anna-${index}-0123456789-0123456789`

async function connect({ url }: RunningGateway, token: string): Promise<RpcClient> {
  const client = await connectRpc(url)
  await client.call('auth', { token })
  return client
}

interface WorldPlan {
  model: ModelServer
  /** The URL of the MCP server. */
  remote: string
  sequences: readonly Sequence[]
}

async function startWorld({ model, remote, sequences }: WorldPlan): Promise<RunningGateway> {
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'world.mjs'), plugin)
  const agents = sequences.flatMap(({ graph }, slot) =>
    graph.agents.map((deny, index): [string, Document] => [
      `s${slot}-${index}`,
      {
        systemPrompt: `I am s${slot} agent${index}.`,
        tools: {
          deny: graph.remote[index] ? deny : [...deny, 'far__*'],
          byOrigin: { hook: { deny: graph.hooks[index] } },
        },
      },
    ]),
  )
  const accounts = sequences.flatMap(({ graph: { team } }, slot) =>
    [0, 1, 2].map((index): [string, Document] => [
      `s${slot}-${index}`,
      { agentId: `s${slot}-${index}`, groups: { team: { tools: { deny: team } } } },
    ]),
  )
  const running = await startGateway(
    {
      plugins: ['./world.mjs'],
      providers: model.providers,
      tools: { mcp: { servers: { far: { url: remote } } } },
      gateway: {
        port: 0,
        drainSeconds: 0,
        tools: { allow: ['sessions_send', 'sessions_spawn'] },
        auth: {
          token: gatewayToken,
          clients: sequences.map(({ graph }, index) => ({
            name: `anna${index}`,
            token: tokenOf(index),
            role: 'operator',
            tools: { deny: graph.anna },
          })),
        },
      },
      hooks: { enabled: true, token: hookToken, allowRequestSessionKey: true },
      session: { historyTurns: 10_000, historyTokens: 10_000_000 },
      agents: {
        defaults: { model: 'double/m', maxConcurrent: 32, heartbeat: { every: '5s' } },
        main: { heartbeat: { every: 0 } },
        ...Object.fromEntries(agents),
      },
      channels: {
        street: {
          dmPolicy: 'open',
          allowFrom: ['friend'],
          accounts: Object.fromEntries(accounts),
        },
      },
    },
    dir,
  )
  const isListed = async () =>
    (await running.get('/tools')).body.items.some(({ name }: { name: string }) => name === 'far__look')
  while (!(await isListed())) await delay(20)
  return running
}

// ── The model: it tries every tool, and repeats every mark that it sees ────────────────────────────

const outsiders: ReadonlySet<string> = new Set(['hook1', 'hook2', 'stranger', 'page', 'described', 'remote'])
const privates: ReadonlySet<string> = new Set(['private', 'owner', 'anna', 'friend', 'team'])

/** The description of the remote tool is one text for all sequences. */
const marksIn = (text: string, slot: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/«(s\d+|all):([a-z]+\d?)»/g)].flatMap(([, id, mark]) =>
      id === slot || id === 'all' ? [mark as string] : [],
    ),
  )

function answer(world: World, { body }: WireRequest): Answer {
  const messages = body['messages'] as { role: string; content: unknown }[]
  const text = JSON.stringify([messages, body['tools'] ?? []])
  const [, id = '', index = ''] = /I am (s\d+) agent(\d)\./.exec(text) ?? []
  const slot = world.slots.find((one) => one.id === id)
  if (!slot) return { text: 'OK.' }
  const marks = marksIn(text, id)
  const seen = [...marks].map((mark) => `«${id}:${mark}»`).join(' ')
  const newest = messages.findLastIndex(({ role }) => role === 'user')
  const made = messages.slice(newest).filter(({ role }) => role === 'assistant').length
  // Whatever an agent writes, it is made of the texts that it has seen.
  if (made >= 2) return { text: `I have seen ${seen}` }
  const calls = [...tries(slot, seen), ...(made === 0 ? carries(slot, seen) : [])]
  return {
    calls: calls.map(({ tool, args, isProbe }) => {
      if (!isProbe) return { tool, args }
      const tag = `${id}.${world.seen.size}`
      const request: Seen = { slot, agent: Number(index), event: slot.event, tool, marks }
      world.seen.set(tag, request)
      if (isForbidden(request)) world.report.forbidden += 1
      return { tool, args: { ...args, tag } }
    }),
  }
}

interface Try {
  tool: string
  args: Document
  isProbe?: boolean
}

function tries({ random }: Slot, text: string): Try[] {
  const probing = (tool: string): Try => ({ tool, args: { text }, isProbe: true })
  return [
    ...probes.map(probing),
    probing('send_out'),
    ...(random() < 0.3 ? [probing('recall')] : []),
    ...(random() < 0.1 ? [probing('page')] : []),
    ...(random() < 0.2 ? [probing('far__look')] : []),
  ]
}

/** What takes a text to another turn. */
function carries(slot: Slot, text: string): Try[] {
  const { id, random } = slot
  const session = `agent:${id}-${pick(random, ['0', '1', '2'])}:main`
  const all: Try[] = [
    { tool: 'write', args: { path: pick(random, ['note.md', 'HEARTBEAT.md']), text } },
    { tool: 'read', args: { path: 'note.md' } },
    { tool: 'sessions_history', args: { sessionKey: session } },
  ]
  const handOffs: Try[] = [
    { tool: 'sessions_send', args: { sessionKey: session, message: text, waitSeconds: pick(random, [0, 0.5]) } },
    { tool: 'sessions_spawn', args: { task: text } },
    { tool: 'cron', args: { action: 'add', message: text, at: '1s' } },
  ]
  const isHandingOn = slot.handOffs > 0
  if (isHandingOn) slot.handOffs -= 1
  return [...all.filter(() => random() < 0.4), ...(isHandingOn ? [pick(random, handOffs)] : [])]
}

// ── The events ─────────────────────────────────────────────────────────────────────────────────────

async function runSequence(world: World, slot: Slot): Promise<void> {
  for (const event of slot.sequence.events) {
    slot.event += 1
    slot.handOffs = 2
    await perform(world, slot, event)
  }
  // Heartbeats start shortly after their wake.
  await delay(400)
  await world.idle(slot)
}

/** Asks for the runs of all sequences at once. */
function watchIdle(running: RunningGateway, signal: AbortSignal): World['idle'] {
  const waiting = new Map<string, () => void>()
  const listBusy = async (): Promise<ReadonlySet<string>> => {
    const lists = await Promise.all(
      ['queued', 'running', 'waiting'].map((status) => running.get(`/api/runs?status=${status}&limit=200`)),
    )
    const agentIds = lists.flatMap(({ body }) => body.items.map(({ agentId }: { agentId: string }) => agentId))
    return new Set(agentIds.map((agentId: string) => agentId.split('-', 1)[0] as string))
  }
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const asked = [...waiting]
      const busy = asked.length > 0 ? await listBusy() : new Set()
      for (const [id, resolve] of asked) if (!busy.has(id) && waiting.delete(id)) resolve()
      await delay(20)
    }
  }
  void watch()
  return ({ id }) => new Promise((resolve) => void waiting.set(id, resolve))
}

async function perform(world: World, slot: Slot, event: Event): Promise<void> {
  const { running, owner } = world
  const agentId = `${slot.id}-${event.agent}`
  const mark = (author: string) => `A text of «${slot.id}:${author}».`
  const main = `agent:${agentId}:main`
  const invoke = async (who: string, tool: string, args: Document) => {
    const token = who === 'owner' ? gatewayToken : tokenOf(world.slots.indexOf(slot))
    const headers = { authorization: `Bearer ${token}` }
    return (await running.post('/tools/invoke', { tool, args, sessionKey: main }, headers)).body.result
  }
  if (event.kind === 'approval') slot.answer = event.answer
  else if (event.kind === 'heartbeat') await delay(300)
  else if (event.kind === 'webhook') {
    const { hook, isShared, wakeMode, waits } = event
    const sessionKey = `hook:${slot.id}:${isShared ? 'shared' : hook}`
    const body = { message: mark(hook), name: hook, agentId, sessionKey, deliver: false, wakeMode }
    const { body: reply } = await running.post('/hooks/agent', body, waits ? { prefer: 'wait=20' } : {})
    judgeText(world, reply.reply ?? '', hook)
  } else if (event.kind === 'chat') {
    const sessionKey = event.session === 'main' ? main : `agent:${agentId}:hook:${slot.id}:${event.session}`
    await (event.who === 'owner' ? owner : slot.anna).call('chat.send', { sessionKey, text: mark(event.who) })
  } else if (event.kind === 'stranger') await receive(world, slot, { agentId, who: 'stranger', text: mark('stranger') })
  else if (event.kind === 'friend') await receive(world, slot, { agentId, who: 'friend', text: mark('friend') })
  else if (event.kind === 'group') await receive(world, slot, { agentId, who: 'group', text: mark('team') })
  else if (event.kind === 'new') await receive(world, slot, { agentId, who: event.where, text: '/new' })
  else if (event.kind === 'write') await invoke(event.who, 'write', { path: event.file, text: mark(event.who) })
  else if (event.kind === 'subagent') await invoke(event.who, 'sessions_spawn', { task: mark(event.who) })
  else {
    const added = await invoke(event.who, 'cron', { action: 'add', message: mark(event.who), every: '1h' })
    if (added?.id) await invoke(event.who, 'cron', { action: 'run', id: added.id })
  }
  await world.idle(slot)
}

interface Message {
  agentId: string
  who: 'stranger' | 'friend' | 'group'
  text: string
}

async function receive(
  { receivers, seen }: World,
  { id, event }: Slot,
  { agentId, who, text }: Message,
): Promise<void> {
  const from = { id: who === 'group' ? 'member' : who === 'friend' ? 'friend' : `stranger-${id}` }
  const more = who === 'group' ? { to: 'team', group: 'group', mentioned: true } : { to: from.id }
  await receivers.get(agentId)?.({ id: `m${event}-${seen.size}-${id}`, from, ...more, text })
}

interface Waiting {
  id: string
  runId: string
  agentId: string
  forTurn?: string
  args?: { tag?: string }
}

async function answerApprovals({ running, slots, approved, report }: World, signal: AbortSignal): Promise<void> {
  const asOwner = { authorization: `Bearer ${gatewayToken}` }
  while (!signal.aborted) {
    const { body } = await running.get('/api/approvals?status=waiting&limit=200')
    for (const { id, runId, agentId, forTurn, args } of body.items as Waiting[]) {
      const { answer, event } = slots.find((slot) => agentId.startsWith(`${slot.id}-`)) as Slot
      const isForTurn = answer === 'turn' && forTurn === 'possible'
      if (answer !== 'deny') approved.add(isForTurn ? runId : (args?.tag ?? ''))
      if (isForTurn) approved.add(`${agentId}.${event}`)
      if (answer !== 'deny') report.approved += 1
      const path = `/api/approvals/${id}/${answer === 'deny' ? 'deny' : 'approve'}`
      await running.post(path, isForTurn ? { for: 'turn' } : {}, asOwner)
    }
    await delay(15)
  }
}

// ── The oracle ─────────────────────────────────────────────────────────────────────────────────────

/** What the least trusted author of a text that the model has seen forbids. */
function isForbidden({ slot: { sequence }, agent, tool, marks }: Seen): boolean {
  const { graph } = sequence
  const isOutside = [...marks].some((mark) => outsiders.has(mark))
  if (tool === 'send_out') return isOutside && [...marks].some((mark) => privates.has(mark))
  // It may both read and send. Its own description restricts it no more than its operator accepts.
  if (tool === 'far__look') return [...marks].some((mark) => mark !== 'described' && outsiders.has(mark))
  const denied = [
    ...(isOutside ? (graph.hooks[agent] ?? []) : []),
    ...(marks.has('anna') ? graph.anna : []),
    ...(marks.has('team') ? graph.team : []),
    ...(graph.agents[agent] ?? []),
  ]
  return denied.includes(tool as Probe)
}

function judgeCall(
  { seen, approved, report }: World,
  { tag, tool, runId }: { tag: string; tool: string; runId: string },
) {
  const request = seen.get(tag)
  if (!request) return
  report.made += 1
  const { sequence, id } = request.slot
  const isApproved = approved.has(tag) || approved.has(runId || `${id}-${request.agent}.${request.event}`)
  if (!isForbidden(request) || isApproved) return
  report.violations.push({ seed: sequence.seed, what: `agent${request.agent} called ${tool}`, saw: [...request.marks] })
}

function judgeText({ report, sequences }: Pick<World, 'report' | 'sequences'>, text: string, to: string): void {
  const [, index] = /«s(\d+):/.exec(text) ?? []
  if (index === undefined) return
  const marks = [...marksIn(text, `s${index}`)]
  const { seed } = sequences[Number(index)] as Sequence
  if (marks.some((mark) => privates.has(mark))) report.violations.push({ seed, what: `a reply to ${to}`, saw: marks })
}
