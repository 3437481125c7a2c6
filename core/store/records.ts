// What the gateway keeps, as it is handed in and out: the shapes of all that a store remembers.
import type { Json, ToolEffect } from '../plugin.ts'
import type { NewRequest } from './request-records.ts'
import type { NewDelivery } from './outbox-records.ts'
import type { RunKind, RunResult, RunSpec, RunStatus } from './run-spec.ts'
import type { Timestamp } from './timestamp.ts'

export type * from './request-records.ts'
export type * from './list-records.ts'
export type * from './outbox-records.ts'
export type { RunStatus } from './run-spec.ts'
export type { Timestamp } from './timestamp.ts'

// ── Accepting ───────────────────────────────────────────────────────────────────────────────────

/** One line of news for a session; `now` also wakes the heartbeat. */
export interface NewEvent {
  id: string
  sessionKey: string
  text: string
  mode: 'now' | 'next-heartbeat'
  /** Where it came from, in words for the prompt: `webhook wake`, `run 0198…`. */
  source: string
  /** True: a prompt shows it without the external content wrapper. */
  trusted: boolean
  /**
   * True: the text is the field `text` of the body of the request that it is accepted with, and is kept there alone. At
   * most one event of a command.
   */
  inBody?: boolean
  /**
   * The agent that it is for: it wakes this one alone, whatever session it waits in. Absent: it wakes the agent whose
   * main session this is, if any.
   */
  agentId?: string | undefined
}

export interface StoredEvent extends Omit<NewEvent, 'inBody' | 'agentId'> {
  at: Timestamp
}

/** How many events are handed out at once, and about how many characters of them; at least one is. */
export interface EventLimit {
  count: number
  characters: number
}

/** A session in which events wait for an agent that they name. */
export interface WaitingWake {
  agentId: string
  sessionKey: string
  mode: NewEvent['mode']
}

/** Agent work that was accepted. */
export interface NewRun {
  id: string
  kind: RunKind
  agentId: string
  sessionKey: string
  spec: RunSpec
  maxAttempts: number
  /** Of all runs with this name only the oldest `limit` run at once. */
  concurrencyLimit?: { name: string; limit: number } | undefined
  /** True: its session was made for it alone, and nobody has named it. */
  unnamedSession?: boolean | undefined
}

export interface AcceptCommand {
  at: Timestamp
  request?: NewRequest | undefined
  /** Present: a second accept with the same scope and key changes nothing. */
  idempotency?: { scope: string; key: string; bodyHash: string; expiresAt: Timestamp; reply: string } | undefined
  events?: readonly NewEvent[] | undefined
  runs?: readonly NewRun[] | undefined
  /** Where messages of this session last came from. */
  route?: ({ sessionKey: string; agentId: string } & NewRoute) | undefined
  /** What is to be said, whoever asked for it. */
  deliveries?: readonly NewDelivery[] | undefined
  /** Present: all of this is a firing of a schedule, and happens only if nobody else has fired it. */
  firing?: Firing | undefined
}

export type AcceptResult =
  | { outcome: 'accepted' }
  /** The key was used with the same body: here is the reply that was given then. */
  | { outcome: 'replayed'; reply: string }
  /** The key was used with another body, or the schedule has fired already. */
  | { outcome: 'conflict' }

// ── Runs ────────────────────────────────────────────────────────────────────────────────────────

/** Who holds a run: a stale fencing token can change nothing. */
export interface RunRef {
  id: string
  fencingToken: number
}

export interface StoredRun extends Omit<NewRun, 'concurrencyLimit' | 'unnamedSession'> {
  seq: number
  status: RunStatus
  attempt: number
  fencingToken: number
  /** Until it has ended: why the last attempt failed, if one did. */
  result: RunResult
  createdAt: Timestamp
  startedAt: Timestamp | null
  endedAt: Timestamp | null
}

/** A run in a list: without its message, which may be long. */
export interface ListedRun extends Omit<StoredRun, 'spec'> {
  spec: Omit<RunSpec, 'message'>
}

/** A run that goes back into the queue, because its model failed for a passing reason. */
export interface RunRetry {
  notBefore: Timestamp
  /** True: later runs of its session may go before it meanwhile. */
  aside: boolean
  result: RunResult
}

/** One message of a transcript, in the AI SDK's shape. */
export interface NewTranscriptEntry {
  message: Json
}

export interface StoredTranscriptEntry extends NewTranscriptEntry {
  seq: number
  runId: string
  at: Timestamp
}

/** Everything that a run's end changes, in one transaction guarded by its fencing token. */
export interface RunEnd {
  at: Timestamp
  status: Exclude<RunStatus, 'queued' | 'running'>
  result: RunResult
  transcript: readonly NewTranscriptEntry[]
  events: readonly NewEvent[]
  deliveries: readonly NewDelivery[]
  /**
   * Whether the events that this run took (`claimEvents`) have been rendered and leave the queue; else they wait again.
   */
  eventsRendered: boolean
  /** True: the transcript brings external content into the session, which is marked for good. */
  exposes?: boolean | undefined
  /** Present: a person is to be told of the failure. */
  alert?: FailureAlert | undefined
}

/** Stored only when none of the same cause was within `quietMs`. */
export interface FailureAlert {
  cause: string
  quietMs: number
  delivery: NewDelivery
}

// ── Schedules ───────────────────────────────────────────────────────────────────────────────────

/** When a schedule fires: by a cron expression of five fields, again and again, or once. */
export type Timing =
  | { kind: 'cron'; expression: string; timezone?: string | undefined }
  | { kind: 'every'; ms: number }
  | { kind: 'at'; at: Timestamp }

export interface NewSchedule {
  id: string
  agentId: string
  name: string
  timing: Timing
  /** What each of its runs is asked to do. */
  spec: RunSpec
  nextAt: Timestamp
}

export interface StoredSchedule extends NewSchedule {
  /** The time for which it last fired. */
  lastAt: Timestamp | null
  createdAt: Timestamp
}

/** One firing: the schedule moves on from `due` to `nextAt`; null: it was the last. */
export interface Firing {
  scheduleId: string
  due: Timestamp
  nextAt: Timestamp | null
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────

export interface NewRoute {
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
}

export interface StoredRoute extends NewRoute {
  at: Timestamp
}

export interface StoredSession {
  key: string
  agentId: string
  updatedAt: Timestamp
}

/** Where a page of sessions has ended: the last that has begun or has events, and the last run that will begin one. */
export interface SessionPosition extends Pick<StoredSession, 'updatedAt' | 'key'> {
  run: number
}

export interface SessionPage {
  items: StoredSession[]
  /** Where to go on; absent at the end. */
  next?: SessionPosition
}

export interface SessionCounts {
  events: number
  queued: number
  running: number
  transcript: number
}

/** What the tools of a session, or of one run, have done since it holds external content. */
export interface Exposure {
  /** True: nothing had been said before the external content came. */
  fromStart: boolean
  readsPrivate: boolean
  sends: boolean
}

/** What a tool is about to do. */
export interface EffectUse {
  /** Session keys and ids of runs whose effects count together. */
  scopes: readonly string[]
  effects: readonly ToolEffect[]
  /** True: it is marked whatever the scopes have done before. */
  force?: boolean | undefined
}

export interface LeaseGrant {
  fencingToken: number
}
