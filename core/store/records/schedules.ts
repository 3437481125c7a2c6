// Schedules: runs that start by the clock.
import type { RunSpec } from '../run-spec.ts'
import type { Timestamp } from './timestamp.ts'

/** When a schedule fires: by a cron expression of five fields, at an interval, or once. */
export type Timing =
  | { kind: 'cron'; expression: string; timezone?: string | undefined }
  | { kind: 'every'; ms: number }
  | { kind: 'at'; at: Timestamp }

export interface NewSchedule {
  id: string
  agentId: string
  name: string
  timing: Timing
  /** What each of its runs does. */
  spec: RunSpec
  nextAt: Timestamp
}

export interface StoredSchedule extends NewSchedule {
  /** The time for which it last fired. */
  lastAt: Timestamp | null
  createdAt: Timestamp
}

/** One firing of a schedule for the time `due`. `nextAt` is the time of the next one; null: this is the last. */
export interface Firing {
  scheduleId: string
  due: Timestamp
  nextAt: Timestamp | null
}
