// Runs: agent work that was accepted, its leases and its end.
import type { Json } from '../../plugin.ts'
import type { RunKind, RunResult, RunSpec, RunStatus } from '../run-spec.ts'
import type { NewEvent } from './events.ts'
import type { NewDelivery } from './outbox.ts'
import type { Timestamp } from './timestamp.ts'

export interface NewRun {
  id: string
  kind: RunKind
  agentId: string
  sessionKey: string
  spec: RunSpec
  maxAttempts: number
  /** Of all runs with this name, only the oldest `limit` run at once. */
  concurrencyLimit?: { name: string; limit: number } | undefined
  /** True: the session was created for this run, and no caller has named it. */
  unnamedSession?: boolean | undefined
}

/** Identifies the holder of a run. A stale fencing token cannot change anything. */
export interface RunRef {
  id: string
  fencingToken: number
}

export interface StoredRun extends Omit<NewRun, 'concurrencyLimit' | 'unnamedSession'> {
  seq: number
  status: RunStatus
  attempt: number
  fencingToken: number
  /** Until the run has ended: why its latest attempt failed, if one did. */
  result: RunResult
  createdAt: Timestamp
  startedAt: Timestamp | null
  endedAt: Timestamp | null
}

/** A run in a list, without its message, which may be long. */
export interface ListedRun extends Omit<StoredRun, 'spec'> {
  spec: Omit<RunSpec, 'message'>
}

/** Returns a run to the queue after its model failed for a transient reason. */
export interface RunRetry {
  notBefore: Timestamp
  /** The provider whose model failed. */
  provider: string
  /** True: later runs of its session may start before it. */
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

/** Everything that the end of a run changes, in one transaction that the fencing token guards. */
export interface RunEnd {
  at: Timestamp
  status: Exclude<RunStatus, 'queued' | 'running'>
  result: RunResult
  transcript: readonly NewTranscriptEntry[]
  events: readonly NewEvent[]
  deliveries: readonly NewDelivery[]
  /** True: the events that the run claimed were rendered and leave the queue. False: they wait again. */
  eventsRendered: boolean
  /** True: the transcript adds external content to the session, which is marked permanently. */
  exposes?: boolean | undefined
  /** An alert that tells a person that the run failed. */
  alert?: FailureAlert | undefined
}

/** Stored only if no alert with the same cause was stored within `quietMs`. */
export interface FailureAlert {
  cause: string
  quietMs: number
  delivery: NewDelivery
}
