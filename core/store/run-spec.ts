// The task of a run and its result, as they are stored.
import type { ActionOverrides, WakeMode } from '../action.ts'
import type { Json } from '../plugin/plugin.ts'
import type { Initiator, MessageSender, Provenance, TurnProvenance } from './provenance.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'

export type { Initiator } from './provenance.ts'

export const runStatuses = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const
/** `waiting`: it waits for the approval of a tool call. */
export type RunStatus = (typeof runStatuses)[number]

export const runKinds = ['hook', 'heartbeat', 'channel', 'subagent', 'schedule', 'chat'] as const
export type RunKind = (typeof runKinds)[number]

/** Where the task of a run came from. */
export interface Origin {
  kind: RunKind
  /** The name of the hook, the channel or the schedule. */
  name: string
  /** The id of the mapping or preset that created the run. */
  mapping?: string | undefined
  /** True: the model reads the text without the external content wrapper. */
  trusted: boolean
  /** The client that started the run. Absent: none, or the gateway's own credential. */
  client?: string | undefined
  /** Who wrote the message that started the run, on a channel. */
  sender?: MessageSender | undefined
  /** How the sender of the webhook was authenticated: by the hook token, or by a signature. */
  auth?: 'token' | 'signed' | undefined
  /** True: its reply may go back to the sender of the webhook whatever the turn has read. */
  repliesToSender?: boolean | undefined
  /** False: its steps are stored without what was said in them. */
  keepContent?: boolean | undefined
  /** Of the text of the task, if a tool of another run, or a client over HTTP, wrote it, or of what it quotes. */
  provenance?: Provenance | undefined
  /** True: text from outside started this run, through other runs. */
  viaHook?: boolean | undefined
  /** True: a stranger on a channel started this run, directly or through other runs. */
  stranger?: boolean | undefined
  /** The callers that had this run started by a tool. The run may use only the tools that all of them may use. */
  initiators?: readonly Initiator[] | undefined
  /** Runs with external content that started this run. The effects of its tools count for them, too. */
  scopes?: readonly string[] | undefined
  /** The webhook or channel that the work goes back to, if another run started this one. Budgets count it there. */
  root?: Pick<Origin, 'kind' | 'name' | 'mapping'> | undefined
  /** The nesting depth of a subagent run. */
  depth?: number | undefined
}

/** Returns whether a webhook, or a stranger on a channel, started the run, directly or through other runs. */
export const isFromHook = ({ kind, viaHook, stranger }: Origin): boolean =>
  kind === 'hook' || viaHook === true || stranger === true

/** Returns whether a person started the run in its conversation: on a channel or in a chat of the gateway. */
export const isFromPerson = ({ kind, trusted, initiators }: Origin): boolean =>
  (kind === 'channel' || kind === 'chat') && trusted && !initiators

/** The requested recipient of a reply. */
export interface Recipient extends Pick<ActionOverrides, 'to' | 'accountId' | 'threadId'> {
  /** The name of a channel, or `last`: the channel of the latest message to the main session. */
  channel: string
  /** Data of the channel that it needs to send to this recipient. */
  route?: Json | undefined
}

/** Fields of an action that are not stored in the spec: they choose the session, the agent or the recipient. */
type FieldsElsewhere = 'action' | 'text' | 'agentId' | 'sessionKey' | 'idempotencyKey' | 'deliver' | keyof Recipient

/** The trace of a run, and the span that the run belongs to, such as that of its webhook request. */
export interface RunTrace extends TraceContext {
  /** True: the run is the first of the trace, and belongs to no span. */
  isFirst?: boolean | undefined
}

/** A message that another one answers or quotes, as the agent reads it. */
export interface Quote {
  /** With a line for each of its files. */
  text: string
  /** The gateway has sent it. */
  isOwn: boolean
  /** It holds text from outside. */
  isExternal: boolean
  /** The display name or the id of its author. */
  from?: string
}

export interface RunSpec extends Omit<ActionOverrides, FieldsElsewhere> {
  message: string
  origin: Origin
  /** The display name of who wrote the message on a channel, as the platform reports it. */
  senderName?: string | undefined
  /** The message that the task answers or quotes. */
  quoted?: Quote | undefined
  /** Present if the message is one that the sender passes on. `from`: who wrote it, as the platform reports it. */
  forwarded?: { from?: string | undefined } | undefined
  /** True: the sender of the webhook waits for the reply, so that it is a way out. */
  isAwaited?: boolean | undefined
  /** Null: the reply is not delivered. */
  deliver: Recipient | null
  wakeMode: WakeMode
  /** The session that gets the run summary. Absent: the main session for a webhook run, none for other runs. */
  summarySession?: string | undefined
  /** The run whose tool started this one. */
  parentRunId?: string | undefined
  /** The webhook request that started the run. */
  requestId?: string | undefined
  /** The id of the failed run that this run repeats. */
  retryOf?: string | undefined
  /** Present if traces were on when the run was accepted. */
  trace?: RunTrace | undefined
}

/** What a call of a model used, and what that costs. */
export interface StepUsage {
  /** All input, with the tokens that were read from a cache or written to it. */
  inputTokens: number
  /** All output, with the reasoning. */
  outputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  totalTokens: number
  /** The service reported no tokens, so that they were computed from the length of the texts. */
  isEstimated?: true
  /** In billionths of a US dollar. Absent: the price of the model is not known. */
  costNanoUsd?: number
}

/** The sum of the calls of a run. Without a single known price it has no cost. */
export interface Usage extends StepUsage {
  /** How many calls of a model there were. */
  steps: number
  /** How many of them have no cost. */
  unpricedSteps?: number
}

/** Why a run has no reply. */
export interface RunError {
  type: string
  message: string
  /** The response of the model's service. It is only for the record of the run. */
  detail?: string
}

/** The result of a run. */
export interface RunResult {
  model?: string
  reply?: string
  error?: RunError
  usage?: Usage
  /**
   * For a run that is retried: when it first failed, how often it failed, and when the next attempt is due. If its
   * provider works again, the attempt may be made as early as `earliestAt`.
   */
  retry?: { since: number; count: number; nextAt: number; earliestAt: number }
  /** Where what its turn has read came from. Absent if it had none. */
  provenance?: TurnProvenance
  /** The id of the run that repeats this failed run. */
  retriedAs?: string
}
