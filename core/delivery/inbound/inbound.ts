// Accepts messages from channels: each becomes a run in its session, and updates the session's last route. Both are
// stored before the platform gets its acknowledgement.
import { createHash } from 'node:crypto'
import { BudgetError } from '../../budgets/budget-error.ts'
import { type Access, resolveAccess } from '../../config/channels/access.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { ChannelContext, InboundMessage, Log } from '../../plugin/plugin.ts'
import { agentSessionKey } from '../../sessions/keys.ts'
import type { MessageSender } from '../../store/provenance.ts'
import type { RunSpec } from '../../store/run-spec.ts'
import type {
  AcceptCommand,
  AcceptResult,
  AccountRef,
  AuditSource,
  NewDelivery,
  NewRoute,
  Store,
} from '../../store/store.ts'
import { admit, groupOf, idsOf, isExternal, withoutMention } from './admission.ts'
import type { Attachments } from './attachments.ts'
import { type ChatCommands, parseChatCommand } from './chat-commands.ts'
import type { Account } from '../connections/connections.ts'
import type { Pairing } from './pairing.ts'
import type { Identities } from './identities.ts'
import { readQuotes } from './quotes.ts'
import { createRefusalLog } from './refusal-log.ts'
import type { ReplyRoutes } from '../reply-routes.ts'

interface InboundDeps {
  channels: Config['channels']
  agents: { get(id: string | undefined): InboundAgent }
  store: Pick<Store, 'hasKey' | 'getState' | 'getSentMessage' | 'getRun'>
  identities: Identities
  accept(command: AcceptCommand): Promise<AcceptResult>
  pairing: Pick<Pairing, 'isApproved' | 'request'>
  attachments: Attachments
  commands: ChatCommands
  /** Takes the answers of approvers. */
  answers: { take(account: AccountRef, message: InboundMessage): Promise<{ reply?: Reply } | undefined> }
  /** Called when a message waits in the outbox. */
  onDeliveries: () => void
  maxAttempts: number
  createId: () => string
  routes: Pick<ReplyRoutes, 'note'>
  log: Log
}

type Reply = Pick<NewDelivery, 'text' | 'endsChoicesOf'>

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

/** A message with what is known of its sender and its group. */
interface Received extends InboundMessage {
  /** Of the group, the one that was seen first in front. */
  groupIds: readonly string[]
}

/** A message that the agent reads, and everything that was resolved about it. */
interface Inbound {
  message: Received
  access: Access
  agent: InboundAgent
  sessionKey: string
  isStranger: boolean
  /** True: a stranger wrote it, and not in a group that the operator has listed. */
  isExternal: boolean
  address: NewRoute
  sender: MessageSender
  at: number
}

export function createInbound(deps: InboundDeps): Receive {
  const { channels, agents, store, identities, accept, pairing, routes, answers, onDeliveries, createId, log } = deps
  const logRefusal = createRefusalLog(log)

  /** Stores a message without a run, and the reply to it. */
  async function acceptReply(source: AccountRef, message: InboundMessage, reply: Reply) {
    const at = Date.now()
    const address = toAddress(source, message)
    await accept({
      at,
      idempotency: createKey(source, message, at),
      deliveries: [{ id: createId(), runId: '', ...address, ...reply, status: 'pending', reason: null }],
    })
    onDeliveries()
    return 'accepted' as const
  }

  return async ({ channel: { name: channel }, accountId }, written) => {
    const source = { channel, accountId }
    const section = channels[channel]
    // A reload has removed the channel.
    if (!section) return 'ignored'
    const access = resolveAccess(section, accountId)
    const { received, keep } = await identify(identities, source, written)
    const agent = agents.get(groupOf(access, received)?.agentId ?? access.agentId)
    const message = findNameMention(received, agent)
    // Before anything else: an approver need not be somebody who may write to the agent.
    const answer = message.forwardedFrom ? undefined : await answers.take(source, message)
    if (answer) return answer.reply === undefined ? 'ignored' : await acceptReply(source, message, answer.reply)
    const isApproved = () => pairing.isApproved(source, idsOf(message))
    const admission = await admit({ access, message, isApproved })
    if ('refusal' in admission) {
      const { refusal } = admission
      logRefusal({ refusal, message, source, section })
      if (refusal === 'sender' && access.dmPolicy === 'pairing' && !message.group)
        await pairing.request(source, message)
      return 'ignored'
    }
    if (!message.text.trim() && !message.attachments?.length && !message.quoted) return 'ignored'
    const at = Date.now()
    const idempotency = createKey(source, message, at)
    // Looked up first, so that a repeated message is not downloaded again, and a repeated command not executed again.
    if (await store.hasKey(idempotency, at)) return 'duplicate'
    const { isStranger } = admission
    await keep()
    const isOutside = isExternal(admission, access, message)
    const inbound = {
      agent,
      access,
      sessionKey: resolveSession(access, { channel, message, agent, isStranger }),
      isStranger,
      isExternal: isOutside,
      message,
      address: toAddress(source, message),
      sender: toSender(source, message, { isTrusted: !isOutside }),
      at,
    }
    const work = await planWork(deps, inbound)
    const { sessionKey, address, sender } = inbound
    const acceptWork = async (some: Work): ReturnType<Receive> => {
      const result = await accept({
        at,
        idempotency,
        route: { sessionKey, agentId: agent.id, ...address, sender },
        ...some,
      })
      // An edited message has its original id and counts as a duplicate.
      if (result.outcome !== 'accepted') return 'duplicate'
      routes.note(sessionKey, { ...address, sender, at })
      if (some.deliveries) onDeliveries()
      return 'accepted'
    }
    try {
      return await acceptWork(work)
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error
      return await acceptWork(await planRefusal(deps, inbound, error))
    }
  }
}

const createKey = ({ channel, accountId }: AccountRef, { id, text }: InboundMessage, at: number) => ({
  scope: `channel:${channel}:${accountId}`,
  key: id,
  bodyHash: createHash('sha256').update(text).digest('hex'),
  expiresAt: at + idempotencyMs,
  reply: '',
})

/** The person and the group keep the ids under which they were seen first. */
async function identify(
  identities: Identities,
  source: AccountRef,
  message: InboundMessage,
): Promise<{ received: Received; keep(): Promise<void> }> {
  const person = await identities.find(source, 'sender', idsOf(message))
  const group = message.group ? await identities.find(source, 'group', [message.to]) : undefined
  const from = { ...message.from, id: person.id, otherIds: person.ids.filter((id) => id !== person.id) }
  return {
    received: {
      ...message,
      from,
      groupIds: group ? [group.id, ...group.ids.filter((id) => id !== group.id)] : [message.to],
    },
    keep: person.keep,
  }
}

/** Adds the mention that the platform does not tell. Text of somebody else mentions nobody. */
function findNameMention(message: Received, { id, name }: InboundAgent): Received {
  const isSilent = message.group && message.mentioned === undefined && !message.forwardedFrom
  const text = isSilent ? withoutMention(message.text, [id, name]) : undefined
  return text === undefined ? message : { ...message, text, mentioned: true }
}

/**
 * A group has a session of its own. Direct messages go to the main session, or each sender has a session. The sessions
 * of strangers have another name than those of other senders: who is listed later begins a new one.
 */
function resolveSession(
  { directSession }: Access,
  { channel, message, agent, isStranger }: Pick<Inbound, 'message' | 'agent' | 'isStranger'> & { channel: string },
): string {
  const { group, from, groupIds, to } = message
  if (group) return agentSessionKey(agent.id, `${channel}:${group}:${groupIds[0] ?? to}`)
  if (directSession === 'shared') return agent.mainSession
  if (isStranger) return agentSessionKey(agent.id, `${channel}:stranger:${from.id}`)
  return directSession === 'sender' ? agentSessionKey(agent.id, `${channel}:direct:${from.id}`) : agent.mainSession
}

const toAddress = (
  source: { channel: string; accountId: string },
  { to, threadId, route }: InboundMessage,
): NewRoute => ({ ...source, to, threadId: threadId ?? null, route: route ?? null })

const toSender = (
  source: AccountRef,
  { from: { id, otherIds }, to, group, groupIds }: Received,
  { isTrusted }: Pick<MessageSender, 'isTrusted'>,
): MessageSender => ({ ...source, from: { id, otherIds }, to, group, ...(group && { groupIds }), isTrusted })

type Work = Pick<AcceptCommand, 'runs' | 'deliveries' | 'state'>

/** A command is answered at once. Text after /new is the first message of the new conversation. */
async function planWork(deps: InboundDeps, inbound: Inbound): Promise<Work> {
  const { commands, createId } = deps
  const { message, address } = inbound
  const command = mayCommand(inbound) ? parseChatCommand(message.text) : undefined
  if (!command) return { runs: [await planRun(deps, inbound)] }
  const { answer, state } = await commands.execute(command, { ...inbound, source: sourceOf(inbound) })
  const goesOn = command.name === 'new' && (command.rest !== '' || message.attachments?.length)
  if (goesOn) return { state, runs: [await planRun(deps, { ...inbound, message: { ...message, text: command.rest } })] }
  return {
    state,
    deliveries: [{ id: createId(), runId: '', ...address, text: answer, status: 'pending', reason: null }],
  }
}

/**
 * In a shared main session, a stranger must not end the work or the conversation of others. Nobody wrote a command who
 * passes on a text.
 */
const mayCommand = ({ message, isStranger, sessionKey, agent }: Inbound): boolean =>
  !message.forwardedFrom && (!isStranger || sessionKey !== agent.mainSession)

/** The sender gets one sentence in each window of the budget, and then no answer. */
async function planRefusal(
  { store, createId }: InboundDeps,
  { address, message: { threadId }, isExternal }: Inbound,
  { key: budget, window, message }: BudgetError,
): Promise<Work> {
  const owner = 'budget-notice'
  const key = JSON.stringify([budget, address.channel, address.accountId, address.to, threadId ?? null])
  if ((await store.getState(owner, key)) === window) return {}
  const text = isExternal ? 'I cannot answer now.' : `I cannot answer now. ${message}`
  return {
    state: { owner, key, value: window },
    deliveries: [{ id: createId(), runId: '', ...address, text, status: 'pending', reason: null }],
  }
}

/** Who writes a command, for the audit log. */
const sourceOf = ({ message, address: { channel, accountId } }: Inbound): AuditSource => ({
  actor: { kind: 'sender', name: message.from.id },
  via: 'channel',
  address: `${channel}/${accountId}`,
})

async function planRun(deps: InboundDeps, inbound: Inbound): Promise<NonNullable<AcceptCommand['runs']>[number]> {
  const { attachments, maxAttempts, createId } = deps
  const { message, access, agent, sessionKey, isExternal, address, sender, at } = inbound
  const { channel, accountId } = address
  const key = JSON.stringify([channel, accountId, message.id])
  const source = { channel, accountId }
  const { from, to, group, groupIds } = message
  const context = { agentId: agent.id, key, at, source }
  const { provenance, ...quoting } = await readQuotes(deps, message, {
    account: source,
    recipients: [to, ...(group ? groupIds : idsOf(message))],
    isTrusted: async (ids) => await isTrusted(deps, { access, message, source }, ids),
    // The files come from whoever sends the message, whatever it says of their author.
    describe: ({ text = '', attachments: files }, isQuoteExternal) =>
      attachments.describe(
        { text, attachments: files },
        { ...context, key: `${key} quoted`, isExternal: isExternal || isQuoteExternal },
      ),
  })
  const spec: RunSpec = {
    message: await attachments.describe(message, {
      ...context,
      isExternal: isExternal || message.forwardedFrom !== undefined,
    }),
    ...quoting,
    origin: {
      kind: 'channel',
      name: channel,
      trusted: !isExternal,
      sender,
      ...(isExternal && { stranger: true }),
      ...(provenance && { provenance }),
    },
    senderName: from.name?.trim().slice(0, longestName) || undefined,
    deliver: { channel, to, accountId, threadId: message.threadId, route: message.route },
    wakeMode: 'next-heartbeat',
  }
  return { id: createId(), kind: 'channel', agentId: agent.id, sessionKey, spec, maxAttempts }
}

/** Whether somebody who writes here with these ids is trusted as the operator's own senders are. */
async function isTrusted(
  { pairing }: InboundDeps,
  { access, message, source }: Pick<Inbound, 'access' | 'message'> & { source: AccountRef },
  ids: readonly string[],
): Promise<boolean> {
  const [id = '', ...otherIds] = ids
  const author = { ...message, from: { id, otherIds }, mentioned: true }
  const admission = await admit({ access, message: author, isApproved: () => pairing.isApproved(source, ids) })
  return 'isStranger' in admission && !isExternal(admission, access, message)
}
