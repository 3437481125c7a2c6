// What a run is asked to do and what it leaves behind, as it is stored.
import type { ActionOverrides, WakeMode } from '../action.ts'
import type { Json } from '../plugin.ts'

export const runStatuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]

export const runKinds = ['hook', 'heartbeat', 'channel', 'subagent', 'schedule', 'chat'] as const
export type RunKind = (typeof runKinds)[number]

/** Where a run's work came from; it travels with the run. */
export interface Origin {
  kind: RunKind
  /** The hook's, channel's or schedule's name. */
  name: string
  /** Of a hook: the id of the mapping or preset that made the run of it. */
  mapping?: string | undefined
  /** True: its text is shown to the model without the external content wrapper. */
  trusted: boolean
  /** How a webhook proved who sent it: by the hook token, or by a signature of its own. */
  auth?: 'token' | 'signed' | undefined
  /** True: a webhook's run started this one, or one that did. It stays so down the whole line. */
  viaHook?: boolean | undefined
  /**
   * On whose behalf a tool started this run, and on whose behalf that one ran: it may use only what all of them may.
   */
  initiators?: readonly Initiator[] | undefined
  /** Sessions and runs that hold external content and had this run started: what its tools do counts there, too. */
  scopes?: readonly string[] | undefined
  /** How many subagents deep it is; absent: none. */
  depth?: number | undefined
}

/** Who had a run started by a tool, as far as the tool policy looks at it. */
export interface Initiator {
  caller: 'agent' | 'http'
  agentId: string
  sessionKey: string
  model?: string | undefined
  channel?: string | undefined
  accountId?: string | undefined
}

/** Does a webhook stand at the beginning? */
export const isFromHook = ({ kind, viaHook }: Origin): boolean => kind === 'hook' || viaHook === true

/** Where a reply is asked to go. */
export interface Recipient extends Pick<ActionOverrides, 'to' | 'accountId' | 'threadId'> {
  /** The name of a channel, or `last`: the channel of the latest message to the main session. */
  channel: string
  /** What the channel wants to have back with a message to this recipient. */
  route?: Json | undefined
}

/** Fields of an action that are not stored in the spec: they choose the session, the agent or the recipient. */
type FieldsElsewhere = 'action' | 'text' | 'agentId' | 'sessionKey' | 'idempotencyKey' | 'deliver' | keyof Recipient

export interface RunSpec extends Omit<ActionOverrides, FieldsElsewhere> {
  message: string
  origin: Origin
  /** The display name of who wrote the message on a channel, as the platform reports it. */
  senderName?: string | undefined
  /** Null: the reply is not delivered. */
  deliver: Recipient | null
  wakeMode: WakeMode
  /** The session that hears how it ended; absent: a hook's run tells the main session, any other none. */
  summarySession?: string | undefined
  /** The failed run that this one does once more. */
  retryOf?: string | undefined
}

export interface Usage {
  inputTokens: number
  outputTokens: number
  cachedInputTokens: number
  reasoningTokens: number
  totalTokens: number
  steps: number
}

/** What a run left behind. */
export interface RunResult {
  model?: string
  reply?: string
  /** `detail`: what a model's service said, for whoever reads the record. */
  error?: { type: string; message: string; detail?: string }
  usage?: Usage
  /** Of a run that is tried again: when it first failed, how often, and when it is tried next. */
  retry?: { since: number; count: number; nextAt: number }
  /**
   * What the model and the tools said before an attempt failed: the next one goes on from there, and calls no tool
   * twice.
   */
  progress?: readonly Json[]
  /** Of a run that failed for good: the run that does it once more. */
  retriedAs?: string
}
