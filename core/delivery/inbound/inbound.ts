// Accepts messages from channels: each becomes a run in its session, and updates the session's last route. Both are
// stored before the platform gets its acknowledgement.
import { createHash } from 'node:crypto'
import { type Access, resolveAccess } from '../../config/channels/access.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { ChannelContext, InboundMessage, Log } from '../../plugin/plugin.ts'
import { agentSessionKey } from '../../sessions/keys.ts'
import type { RunSpec } from '../../store/run-spec.ts'
import type { AcceptCommand, AcceptResult, NewRoute, Store } from '../../store/store.ts'
import { findRefusal, groupOf, idsOf, withoutMention } from './admission.ts'
import type { Attachments } from './attachments.ts'
import { type ChatCommands, parseChatCommand } from './chat-commands.ts'
import type { Account } from '../connections/connections.ts'
import type { Pairing } from './pairing.ts'
import { createRefusalLog } from './refusal-log.ts'
import type { ReplyRoutes } from '../reply-routes.ts'

interface InboundDeps {
  channels: Config['channels']
  agents: { get(id: string | undefined): InboundAgent }
  store: Pick<Store, 'hasKey'>
  accept(command: AcceptCommand): Promise<AcceptResult>
  pairing: Pick<Pairing, 'isApproved' | 'request'>
  attachments: Attachments
  commands: ChatCommands
  /** Called when a message waits in the outbox. */
  onDeliveries: () => void
  maxAttempts: number
  createId: () => string
  routes: Pick<ReplyRoutes, 'note'>
  log: Log
}

interface InboundAgent {
  id: string
  name: string
  model: string
  mainSession: string
}

/** Tries once to accept a message that `readInboundMessage` has read. Rejects if it cannot be stored. */
export type Receive = (
  account: Pick<Account, 'accountId'> & { channel: Pick<Account['channel'], 'name'> },
  message: InboundMessage,
) => ReturnType<ChannelContext['receive']>

/** How long the id of a message is kept to recognize duplicates. */
const idempotencyMs = 7 * 24 * 60 * 60 * 1000

/** Longest display name of a sender that is kept, in characters. */
const longestName = 200

/** A message that the agent reads, and everything that was resolved about it. */
interface Inbound {
  message: InboundMessage
  agent: InboundAgent
  sessionKey: string
  address: NewRoute
  at: number
}

export function createInbound(deps: InboundDeps): Receive {
  const { channels, agents, store, accept, pairing, routes, onDeliveries, log } = deps
  const logRefusal = createRefusalLog(log)

  return async ({ channel: { name: channel }, accountId }, written) => {
    const source = { channel, accountId }
    const section = channels[channel]
    // A reload has removed the channel.
    if (!section) return 'ignored'
    const access = resolveAccess(section, accountId)
    const agent = agents.get(groupOf(access, written)?.agentId ?? access.agentId)
    const message = findNameMention(written, agent)
    const isApproved = () => pairing.isApproved(source, idsOf(message))
    const refusal = await findRefusal({ access, message, isApproved })
    if (refusal) {
      logRefusal({ refusal, message, source, section })
      if (refusal === 'sender' && access.dmPolicy === 'pairing' && !message.group)
        await pairing.request(source, message)
      return 'ignored'
    }
    if (!message.text.trim() && !message.attachments?.length) return 'ignored'
    const at = Date.now()
    const scope = `channel:${channel}:${accountId}`
    // Looked up first, so that a repeated message is not downloaded again, and a repeated command not executed again.
    if (await store.hasKey({ scope, key: message.id }, at)) return 'duplicate'
    const inbound = {
      agent,
      sessionKey: resolveSession(access, { channel, message, agent }),
      message,
      address: toAddress(source, message),
      at,
    }
    const work = await planWork(deps, inbound)
    const bodyHash = createHash('sha256').update(message.text).digest('hex')
    const { sessionKey, address } = inbound
    const result = await accept({
      at,
      idempotency: { scope, key: message.id, bodyHash, expiresAt: at + idempotencyMs, reply: '' },
      route: { sessionKey, agentId: agent.id, ...address },
      ...work,
    })
    // An edited message has its original id and counts as a duplicate.
    if (result.outcome !== 'accepted') return 'duplicate'
    routes.note(sessionKey, { ...address, at })
    if (work.deliveries) onDeliveries()
    return 'accepted'
  }
}

/** Adds the mention that the platform does not tell. */
function findNameMention(message: InboundMessage, { id, name }: InboundAgent): InboundMessage {
  const text = message.group && message.mentioned === undefined ? withoutMention(message.text, [id, name]) : undefined
  return text === undefined ? message : { ...message, text, mentioned: true }
}

/** A group has a session of its own. Direct messages share the main session, or each sender has one. */
function resolveSession(
  access: Access,
  { channel, message, agent }: Pick<Inbound, 'message' | 'agent'> & { channel: string },
): string {
  const { group, from, to } = message
  if (group) return agentSessionKey(agent.id, `${channel}:${group}:${to}`)
  if (access.directSession === 'sender') return agentSessionKey(agent.id, `${channel}:direct:${from.id}`)
  return agent.mainSession
}

const toAddress = (
  source: { channel: string; accountId: string },
  { to, threadId, route }: InboundMessage,
): NewRoute => ({ ...source, to, threadId: threadId ?? null, route: route ?? null })

type Work = Pick<AcceptCommand, 'runs' | 'deliveries' | 'state'>

/** A command is answered at once. Text after /new is the first message of the new conversation. */
async function planWork(deps: InboundDeps, inbound: Inbound): Promise<Work> {
  const { commands, createId } = deps
  const { message, address } = inbound
  const command = parseChatCommand(message.text)
  if (!command) return { runs: [await planRun(deps, inbound)] }
  const { answer, state } = await commands.execute(command, inbound)
  const goesOn = command.name === 'new' && (command.rest !== '' || message.attachments?.length)
  if (goesOn) return { state, runs: [await planRun(deps, { ...inbound, message: { ...message, text: command.rest } })] }
  return {
    state,
    deliveries: [{ id: createId(), runId: '', ...address, text: answer, status: 'pending', reason: null }],
  }
}

async function planRun(
  { attachments, maxAttempts, createId }: InboundDeps,
  { message, agent, sessionKey, address, at }: Inbound,
): Promise<NonNullable<AcceptCommand['runs']>[number]> {
  const { channel, accountId } = address
  const key = JSON.stringify([channel, accountId, message.id])
  const source = { channel, accountId }
  const spec: RunSpec = {
    message: await attachments.describe(message, { agentId: agent.id, key, at, source }),
    origin: { kind: 'channel', name: channel, trusted: true },
    senderName: message.from.name?.trim().slice(0, longestName) || undefined,
    deliver: { channel, to: message.to, accountId, threadId: message.threadId, route: message.route },
    wakeMode: 'next-heartbeat',
  }
  return { id: createId(), kind: 'channel', agentId: agent.id, sessionKey, spec, maxAttempts }
}
