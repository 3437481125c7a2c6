// Approvals: asks a person about a tool call, accepts the answers, and ends the approvals that nobody answers in time.
import { setTimeout as delay } from 'node:timers/promises'
import { type ApprovalSettings, resolveApprovals } from '../config/approvals.ts'
import type { Redactor } from '../config/redaction.ts'
import type { Config } from '../config/schema/schema.ts'
import { createRequestedAddress, type Recipients } from '../delivery/recipient.ts'
import { GatewayError } from '../errors.ts'
import type { Channel, Json, Log } from '../plugin/plugin.ts'
import { createPoller } from '../store/poller.ts'
import type {
  Answerer,
  ApprovalAddress,
  ApprovalNotice,
  AskedApprovals,
  AuditedChange,
  NewApproval,
  NewDelivery,
  Step,
  Store,
  StoredApproval,
} from '../store/store.ts'
import type { ApprovalReason } from '../tools/approval-required.ts'
import { createTypedCode } from '../typed-code.ts'
import { readAddress } from './address.ts'
import { choicesOf, hashCode } from './codes.ts'
import {
  closedReasons,
  maxShownLength,
  renderAnswered,
  renderCancelled,
  renderExpired,
  renderOutcome,
  renderQuestion,
} from './question.ts'

/** A tool call that a person must approve. */
export interface ApprovalRequest extends Pick<
  NewApproval,
  'runId' | 'askedBy' | 'step' | 'agentId' | 'sessionKey' | 'tool'
> {
  args: Json
  origin: string
  reason: ApprovalReason
  keepsContent: boolean
  /** The longest time to wait, if it is shorter than the configured one. */
  maxWaitMs?: number
}

export interface Answer {
  status: 'approved' | 'denied'
  by: Answerer
  reason: string | null
  /** True: all calls of the turn that only its texts forbid are approved with this one. */
  forTurn?: boolean | undefined
  /** Who has answered, for the audit log. */
  audit: AuditedChange
  /** Where the answer came from, which needs no message about it: the conversation, and a sender who wrote directly. */
  place?: Pick<ApprovalAddress, 'channel' | 'accountId'> & { to: readonly string[] }
}

export interface Approvals {
  /** Whether somebody is asked about calls of this agent in a chat. */
  canAsk(agentId: string): boolean
  /** Prepares an approval and the message that asks for it. The caller stores both. */
  prepare(request: ApprovalRequest): Promise<AskedApprovals>
  /** Call it when a prepared approval or a message about one is stored. */
  announce(): void
  /** Stores an approval of a call that no run makes. @returns its id */
  ask(request: ApprovalRequest): Promise<string>
  /**
   * Waits for the answer to a call that no run makes. Resolves when the approval does not wait any more, and rejects with
   * the reason of the signal.
   */
  waitForEnd(id: string, signal?: AbortSignal): Promise<StoredApproval | undefined>
  /** Answers an approval. Throws `approval_not_found`, or `conflict` with the reason why it is too late. */
  answer(id: string, answer: Answer): Promise<StoredApproval>
  /** Ends an approval because its caller does not wait any more. */
  withdraw(id: string): Promise<void>
  /** The open approvals of a run that ends, and the messages about them. */
  prepareNotices(run: { id: string }): Promise<ApprovalNotice[]>
  /** Tells the approver how an approved call over MCP ended. */
  reportEnd(approval: StoredApproval, step: Pick<Step, 'status'>): Promise<void>
  /** The message about the end of a call that was approved. */
  describeEnd(approval: StoredApproval, step: Pick<Step, 'status'>): Promise<AskedApprovals>
  start(): void
  /** Looks for approvals whose time is over, because the times of waiting approvals have changed. */
  recheckTimes(): void
  close(): Promise<void>
}

interface ApprovalsDeps {
  store: Pick<
    Store,
    | 'getApproval'
    | 'getDelivery'
    | 'createApproval'
    | 'extendApproval'
    | 'answerApproval'
    | 'readRunApprovals'
    | 'listDueApprovals'
    | 'getNextApprovalExpiry'
  >
  config(): Pick<Config, 'approvals' | 'agents'>
  resolveRecipient: Recipients['resolve']
  /** True: another gateway on the store may have a channel that this one lacks. */
  isShared: boolean
  channels: ReadonlyMap<string, Pick<Channel<never>, 'limits'>>
  /** Removes secrets, and keeps codes out of the log. */
  redactor: Pick<Redactor, 'text' | 'json' | 'hideForNow'>
  /** Called when a run that waited may continue. */
  onRequeued(): void
  /** Called when messages wait in the outbox. */
  onDeliveries(): void
  createId: () => string
  now(): number
  log: Log
}

/** How often expiries are looked up at least: another gateway may have stored them. */
const maxLookupMs = 30_000
const retryMs = 1_000
/** How often a caller that waits looks for the answer. */
const recheckMs = 500
/** A waiting caller reports this often that it waits. After so long without a report its approval ends. */
const [extendMs, abandonedMs] = [3_000, 10_000]
/** A message must have room for a few lines, so that no line is cut. */
const minMessageLength = 400

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { store, config, createId, now, log } = deps

  const createDelivery = (address: ApprovalAddress, text: string, choices: DeliveryChoices): NewDelivery => ({
    id: createId(),
    // Not the id of the run: if the message cannot be delivered, its text must not come back to the agent.
    runId: '',
    ...address,
    text,
    status: 'pending',
    reason: null,
    ...choices,
  })
  const notify = (address: ApprovalAddress | null, text: string, choices: DeliveryChoices = {}): NewDelivery[] =>
    address ? [createDelivery(address, text, choices)] : []
  /** Says that nobody can answer any more. */
  const notifyEnd = async (approval: Pick<StoredApproval, 'id' | 'address'>, text: string): Promise<NewDelivery[]> =>
    notify(await readAddress(store, approval), text, { endsChoicesOf: approval.id })

  async function resolveAddress(
    { channel, to, accountId, threadId }: ApprovalSettings,
    agentId: string,
  ): Promise<ApprovalAddress | null> {
    if (channel === undefined) return null
    const wanted = { channel, to, accountId, threadId }
    const found = await deps.resolveRecipient(wanted)
    if ('address' in found) return found.address
    if (found.isMissing && deps.isShared)
      return { ...createRequestedAddress(wanted), channel: found.channel, to: found.to, wanted }
    log.warn({ agentId, channel, reason: found.reason }, 'nobody could be asked for an approval')
    return null
  }

  /** Why the arguments cannot be approved in the chat. */
  function findClosedReason(args: string, { approvers }: ApprovalSettings, channel: string): string | undefined {
    const { limits } = deps.channels.get(channel) ?? {}
    if (approvers.length === 0) return closedReasons.approvers
    if (args.length > maxShownLength) return closedReasons.long(args.length)
    if (holdsSecret(deps.redactor, args)) return closedReasons.secret
    return limits && limits.maxText < minMessageLength ? closedReasons.narrow : undefined
  }

  async function prepare({ args: given, reason, maxWaitMs = Infinity, ...call }: ApprovalRequest) {
    const settings = resolveApprovals(config(), call.agentId)
    const timeoutMs = Math.min(settings.timeoutMs, maxWaitMs)
    const address = await resolveAddress(settings, call.agentId)
    const args = JSON.stringify(given)
    const closed = address ? findClosedReason(args, settings, address.channel) : undefined
    const code = address && closed === undefined ? createTypedCode() : undefined
    if (code !== undefined) deps.redactor.hideForNow([code])
    const at = now()
    const expiresAt = at + timeoutMs
    const approval: NewApproval = {
      ...call,
      ...reason,
      isNarrowed: reason.isNarrowed === true,
      id: createId(),
      args,
      codeHash: code === undefined ? null : hashCode(code),
      address,
      expiresAt,
      awaitedUntil: call.runId === '' ? Math.min(at + abandonedMs, expiresAt) : null,
    }
    const fields = { approvalId: approval.id, runId: call.runId, agentId: call.agentId, tool: call.tool }
    log.info({ ...fields, rule: reason.rule }, 'a tool call waits for an approval')
    return {
      at,
      approvals: [approval],
      // The question has the id of the approval, so that its choices are found when they end.
      deliveries: notify(address, renderQuestion({ approval, code, closed, timeoutMs }), {
        id: approval.id,
        choices: code === undefined ? null : choicesOf(code, approval.isNarrowed),
      }),
    }
  }

  async function answer(
    id: string,
    { status, by, reason: given, forTurn = false, audit, place }: Answer,
  ): Promise<StoredApproval> {
    // The model reads it, and so do clients.
    const reason = given === null ? null : deps.redactor.text(given)
    const approval = await store.getApproval(id)
    if (!approval) throw new GatewayError('approval_not_found')
    if (forTurn && !approval.isNarrowed) throw new GatewayError('conflict', onlyCallMessage)
    const isSamePlace = isSame(await readAddress(store, approval), place)
    const deliveries = isSamePlace ? [] : await notifyEnd(approval, renderAnswered(approval, status, by))
    const isAnswered = await store.answerApproval(id, { status, at: now(), by, reason, forTurn, deliveries, audit })
    const answered = (await store.getApproval(id)) ?? approval
    if (!isAnswered) throw new GatewayError('conflict', describeTooLate(answered, now()))
    log.info({ approvalId: id, runId: approval.runId, tool: approval.tool, status, role: by.role }, 'approval answered')
    settle(deliveries)
    return answered
  }

  function settle(deliveries: readonly NewDelivery[]): void {
    deps.onRequeued()
    if (deliveries.length > 0) deps.onDeliveries()
  }

  async function end(approval: StoredApproval, status: 'expired' | 'cancelled', text: string): Promise<void> {
    const deliveries = await notifyEnd(approval, text)
    const isEnded = await store.answerApproval(approval.id, { status, at: now(), by: null, reason: null, deliveries })
    if (!isEnded) return
    log.info({ approvalId: approval.id, runId: approval.runId, tool: approval.tool, status }, 'approval ended')
    settle(deliveries)
  }

  const expiry = createPoller({
    claim: async () => {
      for (const approval of await store.listDueApprovals(now())) {
        const isAbandoned = now() < approval.expiresAt
        if (isAbandoned) await end(approval, 'cancelled', renderCancelled(approval))
        else await end(approval, 'expired', renderExpired(approval))
      }
      const next = (await store.getNextApprovalExpiry()) ?? Infinity
      expiry.notifyIn(Math.min(Math.max(0, next - now()), maxLookupMs))
    },
    retryMs,
    log,
  })

  function announce(): void {
    expiry.notify()
    deps.onDeliveries()
  }

  async function waitForEnd(id: string, signal?: AbortSignal): Promise<StoredApproval | undefined> {
    // By the monotonic clock: the wall clock may be set back meanwhile.
    for (let extendedAt = performance.now(); ;) {
      const approval = await store.getApproval(id)
      if (approval?.status !== 'waiting') return approval
      if (performance.now() - extendedAt >= extendMs) {
        extendedAt = performance.now()
        await store.extendApproval(id, Math.min(now() + abandonedMs, approval.expiresAt))
      }
      // Another gateway may take the answer.
      await delay(recheckMs, undefined, signal && { signal })
    }
  }

  const describeEnd: Approvals['describeEnd'] = async (approval, { status }) => ({
    at: now(),
    approvals: [],
    deliveries: notify(await readAddress(store, approval), renderOutcome(approval, status)),
  })

  return {
    canAsk: (agentId) => resolveApprovals(config(), agentId).channel !== undefined,
    prepare,
    announce,
    ask: async (request) => {
      const asked = await prepare(request)
      await store.createApproval(asked)
      announce()
      return asked.approvals[0]?.id ?? ''
    },
    waitForEnd,
    answer,
    withdraw: async (id) => {
      const approval = await store.getApproval(id)
      if (approval) await end(approval, 'cancelled', renderCancelled(approval))
    },
    prepareNotices: async ({ id }) => {
      const open = (await store.readRunApprovals(id)).filter(({ status }) => status === 'waiting')
      return await Promise.all(
        open.map(async (approval) => {
          const [delivery] = await notifyEnd(approval, renderCancelled(approval))
          return { approvalId: approval.id, delivery }
        }),
      )
    },
    reportEnd: async (approval, step) => {
      await store.createApproval(await describeEnd(approval, step))
      announce()
    },
    describeEnd,
    start: expiry.notify,
    recheckTimes: expiry.notify,
    close: expiry.close,
  }
}

const onlyCallMessage =
  'This call is asked about by a rule of the configuration, so it can be approved only by itself and not for the turn.'

type DeliveryChoices = Partial<Pick<NewDelivery, 'id' | 'choices' | 'endsChoicesOf'>>

const isSame = (address: ApprovalAddress | null, place: Answer['place']): boolean =>
  address !== null &&
  place !== undefined &&
  address.channel === place.channel &&
  address.accountId === place.accountId &&
  place.to.includes(address.to)

/** Whether these arguments hold a secret of the configuration. */
export const holdsSecret = ({ text, json }: Pick<Redactor, 'text' | 'json'>, args: string): boolean =>
  json(args) !== args || text(args) !== args

/** Why an approval takes no answer any more. */
function describeTooLate({ status, runId, expiresAt }: StoredApproval, now: number): string {
  if (status === 'approved' || status === 'denied') return `This call was already ${status}.`
  // If it still waits, it takes no answer because its caller does not wait any more.
  const isAbandoned = status === 'waiting' && now < expiresAt
  if (status !== 'cancelled' && !isAbandoned) return 'The time to answer is over, so this call was denied.'
  return runId === ''
    ? 'The client that asked does not wait any more, so the call is not made.'
    : 'The run of this call has ended, so the call is not made.'
}
