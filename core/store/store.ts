// What the gateway keeps, as operations: each is one atomic transaction and resolves only when it is on disk.
import type { Json } from '../plugin.ts'
import type { RunResult, RunSpec } from './run-spec.ts'

/** Milliseconds since 1970. */
export type Timestamp = number

// ── Accepting ───────────────────────────────────────────────────────────────────────────────────

/** One line of news for a session; `now` also rings the bell. */
export interface NewEvent {
  id: string
  sessionKey: string
  text: string
  mode: 'now' | 'next-heartbeat'
  /** Where it came from, in words for the prompt: `webhook wake`, `run 0198…`. */
  source: string
  /** True: a prompt shows it without the fence around outside text. */
  trusted: boolean
}

export interface StoredEvent extends NewEvent {
  at: Timestamp
}

/** Agent work that was accepted. */
export interface NewRun {
  id: string
  kind: 'hook' | 'heartbeat' | 'channel' | 'subagent' | 'schedule' | 'chat'
  agentId: string
  sessionKey: string
  spec: RunSpec
  maxAttempts: number
}

/** One line of the log of what came in. */
export interface NewDelivery {
  id: string
  hook: string
  client: string
  /** Redacted before it gets here. */
  headers: Json
  body: string
}

export interface AcceptCommand {
  at: Timestamp
  delivery?: NewDelivery
  /** Present: a second accept with the same scope and key changes nothing. */
  idempotency?: { scope: string; key: string; bodyHash: string; expiresAt: Timestamp; reply: string }
  events?: readonly NewEvent[]
  runs?: readonly NewRun[]
  /** Where messages of this session last came from. */
  route?: { sessionKey: string; agentId: string } & NewRoute
}

export type AcceptResult =
  | { outcome: 'accepted' }
  /** The key was used with the same body: here is the reply that was given then. */
  | { outcome: 'replayed'; reply: string }
  /** The key was used with another body. */
  | { outcome: 'conflict' }

// ── Runs ────────────────────────────────────────────────────────────────────────────────────────

export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled'

/** Who holds a run: a stale fence can change nothing. */
export interface RunRef {
  id: string
  fence: number
}

export interface StoredRun extends NewRun {
  seq: number
  status: RunStatus
  attempt: number
  fence: number
  /** Empty until it ended. */
  result: RunResult
  createdAt: Timestamp
  startedAt: Timestamp | null
  endedAt: Timestamp | null
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

/** Everything that a run's end changes, in one transaction guarded by its fence. */
export interface RunEnd {
  at: Timestamp
  status: Exclude<RunStatus, 'queued' | 'running'>
  result: RunResult
  transcript: readonly NewTranscriptEntry[]
  events: readonly NewEvent[]
  messages: readonly NewMessage[]
  /** Whether the events that this run took (`takeEvents`) have been rendered and leave the queue; else they wait again. */
  eventsRendered: boolean
}

// ── Outbox ──────────────────────────────────────────────────────────────────────────────────────

export type MessageStatus = 'pending' | 'sending' | 'sent' | 'failed' | 'unknown' | 'skipped'

/** One message to one recipient. A status other than `pending` records what will not be sent, and why. */
export interface NewMessage {
  /** `<runId>:<n>`. */
  id: string
  runId: string
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
  text: string
  status: 'pending' | 'failed' | 'skipped'
  reason: string | null
}

export interface StoredMessage extends Omit<NewMessage, 'status'> {
  seq: number
  status: MessageStatus
  attempt: number
  fence: number
  /** How many of its chunks the platform has. */
  chunksSent: number
  /** True: nobody knows whether the platform got the chunk after those, for its answer or its sender was lost. */
  uncertain: boolean
  platformId: string | null
  nextAt: Timestamp
  createdAt: Timestamp
}

/** What an attempt came to. `retry` goes back to pending, due at `nextAt`; `uncertain` as in `StoredMessage`. */
export type MessageEnd =
  | { status: 'sent'; platformId: string | null }
  | { status: 'failed' | 'unknown'; reason: string }
  | { status: 'retry'; reason: string; nextAt: Timestamp; uncertain: boolean }

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

export interface SessionCounts {
  events: number
  queued: number
  running: number
  transcript: number
}

export interface LeaseGrant {
  fence: number
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

export interface Store {
  /**
   * All or nothing: the log line, the idempotency key, events, runs. Group-committed.
   * Rejects with `store_unavailable` when too much waits, and after five seconds without an answer.
   */
  accept(command: AcceptCommand): Promise<AcceptResult>

  /**
   * Hands out waiting runs: of each session only the oldest live one, so that one runs at a time, in order of acceptance.
   * Marks them running, counts the attempt, raises the fence.
   */
  claimRuns(claim: { owner: string; max: number; at: Timestamp; leaseMs: number }): Promise<StoredRun[]>
  /** False: the run is no longer ours and must stop. */
  renewRun(run: RunRef, until: Timestamp): Promise<boolean>
  /** False: the fence is stale and nothing was changed. */
  endRun(run: RunRef, end: RunEnd): Promise<boolean>
  /** Puts a running run back into its place in the queue without counting the attempt (a clean stop). */
  releaseRun(run: RunRef): Promise<boolean>
  /** Runs whose lease ran out: back in the queue (`queued`), or returned as `exhausted` when no attempt is left; the caller has 30 seconds to end those. */
  reapRuns(at: Timestamp): Promise<{ queued: number; exhausted: StoredRun[] }>
  /** Cancels a run that has not started; false when it has, or is unknown. */
  cancelQueuedRun(id: string, at: Timestamp): Promise<boolean>
  getRun(id: string): Promise<StoredRun | undefined>
  countQueuedRuns(): Promise<number>

  /** Gives the session's oldest waiting events to this run; taken again they are the same ones. */
  takeEvents(run: RunRef, sessionKey: string, limit: { count: number; characters: number }): Promise<StoredEvent[]>
  /** The oldest that no run has taken. */
  waitingEvents(sessionKey: string, limit: number): Promise<StoredEvent[]>
  countWaitingEvents(sessionKey: string): Promise<number>
  /** Sessions in which an event with mode `now` waits: bells that were rung before a crash. */
  sessionsWithBells(): Promise<string[]>

  /** The newest entries, oldest first. */
  transcript(sessionKey: string, limit: number): Promise<StoredTranscriptEntry[]>
  getSession(key: string): Promise<StoredSession | undefined>
  listSessions(filter: { agentId?: string; limit: number }): Promise<StoredSession[]>
  sessionCounts(key: string): Promise<SessionCounts>
  /** The newest route of a session, or its newest on one channel. */
  lastRoute(sessionKey: string, channel?: string): Promise<StoredRoute | undefined>

  /** Hands out messages that are due: of each lane (channel, account, recipient) only the oldest. Marks them sending. */
  claimMessages(claim: { owner: string; max: number; at: Timestamp; leaseMs: number }): Promise<StoredMessage[]>
  /** One more chunk is with the platform for certain. False: the fence is stale. */
  advanceMessage(id: string, fence: number, chunksSent: number): Promise<boolean>
  endMessage(id: string, fence: number, end: MessageEnd, at: Timestamp): Promise<boolean>
  /** Messages that were being sent when their sender died; the caller has 30 seconds to decide what becomes of each (`endMessage` with the returned fence). */
  reapMessages(at: Timestamp): Promise<StoredMessage[]>
  messagesOfRun(runId: string): Promise<StoredMessage[]>
  /** When the next pending message is due. */
  nextMessageAt(): Promise<Timestamp | undefined>

  getState(part: string, key: string): Promise<Json | undefined>
  setState(part: string, key: string, value: Json): Promise<void>
  deleteState(part: string, key: string): Promise<void>

  /** Takes or keeps a lease that only one owner may hold; undefined while another holds it. */
  lease(name: string, owner: string, at: Timestamp, until: Timestamp): Promise<LeaseGrant | undefined>
  releaseLease(name: string, owner: string): Promise<void>

  /** Gives up every lease of owners that are gone for certain (the previous process on an embedded store): nothing waits for its time-out. */
  expireLeases(): Promise<void>
  /** Forgets idempotency keys whose time is over; returns how many. */
  forgetExpired(at: Timestamp): Promise<number>
  /** Resolves when a write would be committed, rejects with `store_unavailable` when not. */
  probe(): Promise<void>
  close(): Promise<void>
}
