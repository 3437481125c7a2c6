// Answers that approvers type in a chat: `approve <code>` and `deny <code> <reason>`. An agent never reads them.
import { resolveApprovals } from '../config/approvals.ts'
import { normalizeId } from '../config/channels/ids.ts'
import { channelName } from '../config/channels/names.ts'
import type { Config } from '../config/schema/schema.ts'
import { idsOf } from '../delivery/inbound/admission.ts'
import { GatewayError } from '../errors.ts'
import type { Throttle } from '../http/throttle.ts'
import type { Channel, InboundMessage, Log } from '../plugin/plugin.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import type { AccountRef, AuditedChange, NewDelivery, Store, StoredApproval } from '../store/store.ts'
import { readAddress } from './address.ts'
import type { Policy } from '../tools/policy.ts'
import type { Approvals } from './approvals.ts'
import { hashCode, parseAnswer, type TypedAnswer } from './codes.ts'

export interface ChatAnswers {
  /** Undefined: the message is not an answer, and the agent reads it. A result without a reply: it is ignored. */
  take(account: AccountRef, message: InboundMessage): Promise<{ reply?: ChatReply } | undefined>
}

export interface ChatReply extends Pick<NewDelivery, 'endsChoicesOf'> {
  text: string
}

interface ChatAnswersDeps {
  store: Pick<Store, 'findApproval' | 'getDelivery'>
  approvals: Pick<Approvals, 'answer'>
  config(): Pick<Config, 'approvals' | 'agents'>
  policy(): Pick<Policy, 'explain'>
  channels: ReadonlyMap<string, Pick<Channel<never>, 'aliases' | 'normalizeId'>>
  /** Counts wrong codes by sender. */
  throttle: Throttle
  log: Log
}

const unknownCode = 'No call waits for an answer with this code.'

export function createChatAnswers(deps: ChatAnswersDeps): ChatAnswers {
  const { store, approvals, config, channels, throttle, log } = deps

  /** Whether the current configuration lets the sender answer for this agent. */
  function mayAnswer(agentId: string, { channel }: AccountRef, message: Pick<InboundMessage, 'from'>): boolean {
    const settings = resolveApprovals(config(), agentId)
    if (settings.channel === undefined || channelName(channels, settings.channel) !== channel) return false
    const approvers = new Set(settings.approvers.map((id) => toKey(normalizeId(channels.get(channel), id))))
    return idsOf(message).some((id) => approvers.has(toKey(id)))
  }

  const isApprover = (account: AccountRef, message: Pick<InboundMessage, 'from'>): boolean =>
    ['', ...Object.keys(config().agents)].some((agentId) => mayAnswer(agentId, account, message))

  /** A code is valid only on the channel and the account on which the gateway asked. */
  async function find(code: string, account: AccountRef): Promise<StoredApproval | undefined> {
    const found = await store.findApproval(hashCode(code))
    const address = found && (await readAddress(store, found))
    if (!address || address.wanted) return undefined
    return address.channel === account.channel && address.accountId === account.accountId ? found : undefined
  }

  async function answer(account: AccountRef, message: InboundMessage, typed: TypedAnswer): Promise<ChatReply> {
    const key = JSON.stringify([account.channel, account.accountId, toKey(message.from.id)])
    const seconds = throttle.lockoutSeconds(key)
    if (seconds > 0) {
      const minutes = Math.ceil(seconds / 60)
      return { text: `There were too many wrong codes; wait ${minutes} minutes, or use "svc-gateway approvals".` }
    }
    const approval = await find(typed.code, account)
    if (!approval || !mayAnswer(approval.agentId, account, message)) {
      throttle.recordFailure(key)
      return { text: unknownCode }
    }
    const refusal =
      typed.status === 'approved' ? findGroupRefusal(deps.policy(), approval, { account, message }) : undefined
    if (refusal !== undefined) return { text: refusal }
    return { text: await settle(approval, account, { message, typed }), endsChoicesOf: approval.id }
  }

  async function settle(
    approval: StoredApproval,
    account: AccountRef,
    { message, typed: { status, reason, forTurn } }: { message: InboundMessage; typed: TypedAnswer },
  ): Promise<string> {
    const by = { role: 'approver', via: account.channel, id: message.from.id } as const
    const audit: AuditedChange = {
      actor: { kind: 'sender', name: message.from.id },
      via: 'channel',
      address: `${account.channel}/${account.accountId}`,
      action: status === 'approved' ? 'approval.approve' : 'approval.deny',
      target: approval.id,
      agentId: approval.agentId,
    }
    const to = message.group ? [message.to] : [message.to, ...idsOf(message)]
    try {
      await approvals.answer(approval.id, { status, by, reason, forTurn, audit, place: { ...account, to } })
      return status === 'approved' ? describeApproved(approval) : 'Denied. The agent reads that this call was denied.'
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'conflict') return error.message
      throw error
    }
  }

  return {
    take: async (account, message) => {
      const typed = parseAnswer(message.text)
      if (!typed) return undefined
      if (isApprover(account, message)) return { reply: await answer(account, message, typed) }
      // A stranger repeats a code from a group, or presses a button there. The agent does not read it either.
      const approval = await find(typed.code, account)
      if (!approval) return undefined
      if (approval.status === 'waiting')
        log.warn({ ...account, sender: message.from.id }, 'somebody who is not an approver tried to answer an approval')
      return {}
    },
  }
}

/** Nobody approves a call that they may not have made where they answer. */
function findGroupRefusal(
  policy: Pick<Policy, 'explain'>,
  { agentId, tool }: StoredApproval,
  { account, message: { group, to } }: { account: AccountRef; message: InboundMessage },
): string | undefined {
  if (!group) return undefined
  const sessionKey = agentSessionKey(agentId, `${account.channel}:${group}:${to}`)
  const { layers } = policy.explain({ caller: 'agent', agentId, sessionKey, ...account }, tool)
  const denied = layers.find(({ layer, verdict }) => layer === 'group' && verdict === 'deny')
  return (
    denied &&
    `This call cannot be approved here, because this group may not use \`${tool}\` itself (${denied.rule}); another ` +
      'approver must answer, or you elsewhere.'
  )
}

/** A client may have gone that nobody has noticed yet. */
const describeApproved = ({ runId }: StoredApproval): string =>
  runId === '' ? 'Approved. The call is made if its client still waits.' : 'Approved. The call is made now.'

const toKey = (id: string): string => id.trim().toLowerCase()
