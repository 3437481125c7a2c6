// The shapes of purging: what one step is asked for, what it has done, and what room is left.
import type { StoredSession, Timestamp } from './records.ts'

/** What is purged once it is over. Sessions: those that nobody has named, with their transcripts. */
export type Purgeable = 'requests' | 'runs' | 'deliveries' | 'events' | 'sessions'

/** The last row of each kind that a step has looked at. */
export interface PurgePositions extends Record<Exclude<Purgeable, 'sessions'>, number> {
  sessions: Pick<StoredSession, 'updatedAt' | 'key'>
}

export interface PurgeStep {
  /** Only what was over before this time. */
  before: Timestamp
  /** Where the step before has ended; absent: at the oldest. */
  from?: PurgePositions | undefined
}

export interface PurgeResult {
  counts: Record<Purgeable, number>
  /** Where to go on; absent: nothing behind is older than `before`. */
  next?: PurgePositions
}

export interface PurgeBodiesStep {
  /** Only those of requests that came before this time. */
  before: Timestamp
  /** The last request that the step before has looked at; absent: the step begins with the oldest. */
  from?: number | undefined
}

export interface PurgedBodies {
  /** How many bodies were deleted. */
  count: number
  /** The last request that was looked at. */
  last: number
  /** Whether there may be older ones than `before` behind it. */
  more: boolean
  /** False: a body was left, for it is the text of an event that waits. */
  complete: boolean
}

/** In bytes: the room that the store takes on its disk, and how much of that holds nothing. */
export interface Space {
  bytes: number
  free: number
}
