// The shapes of forgetting: what one step is asked for, what it has done, and what room is left.
import type { StoredSession, Timestamp } from './records.ts'

/** What is forgotten once it is over. Sessions: those that nobody has named, with their transcripts. */
export type Forgettable = 'deliveries' | 'runs' | 'messages' | 'events' | 'sessions'

/** The last row of each kind that a step has looked at. */
export interface ForgetPlaces extends Record<Exclude<Forgettable, 'sessions'>, number> {
  sessions: Pick<StoredSession, 'updatedAt' | 'key'>
}

export interface ForgetStep {
  /** Only what was over before this time. */
  before: Timestamp
  /** Where the step before has ended; absent: at the oldest. */
  from?: ForgetPlaces | undefined
}

export interface Forgotten {
  counts: Record<Forgettable, number>
  /** Where to go on; absent: nothing behind is older than `before`. */
  next?: ForgetPlaces
}

export interface ForgetBodiesStep {
  /** Only those of deliveries that came before this time. */
  before: Timestamp
  /** The last delivery that the step before has looked at; absent: the step begins with the oldest. */
  from?: number | undefined
}

export interface ForgottenBodies {
  /** How many bodies were deleted. */
  count: number
  /** The last delivery that was looked at. */
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
