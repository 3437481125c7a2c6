// Purging: one step's input and result, and the disk space of the store.
import type { SessionPosition } from './sessions.ts'
import type { Timestamp } from './timestamp.ts'

/** The kinds of records that are purged. Sessions are purged only if no caller has named them. */
export type Purgeable = 'requests' | 'runs' | 'deliveries' | 'events' | 'sessions'

/** The last row of each kind that a step read. */
export interface PurgePositions extends Record<Exclude<Purgeable, 'sessions'>, number> {
  sessions: Omit<SessionPosition, 'run'>
}

export interface PurgeStep {
  /** Only records that ended before this time are purged. */
  before: Timestamp
  /** Where the previous step ended; absent: the step starts with the oldest records. */
  from?: PurgePositions | undefined
}

export interface PurgeResult {
  counts: Record<Purgeable, number>
  /** Where the next step starts; absent when no record older than `before` is left. */
  next?: PurgePositions
}

export interface PurgeBodiesStep {
  /** Only bodies of requests that arrived before this time are deleted. */
  before: Timestamp
  /** The last request that the previous step read; absent: the step starts with the oldest request. */
  from?: number | undefined
}

export interface PurgedBodies {
  /** How many bodies were deleted. */
  count: number
  /** The last request that the step read. */
  last: number
  /** Whether there may be further requests older than `before`. */
  more: boolean
  /** False: a body was kept because it holds the text of a waiting event. */
  complete: boolean
}

/** Disk space in bytes: the size of the store, and how much of it is free. */
export interface Space {
  bytes: number
  free: number
}
