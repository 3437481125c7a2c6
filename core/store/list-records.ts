// What lists are asked for, and what they answer: filters, pages, counts.
import type { RequestStatus } from './request-records.ts'
import type { DeliveryStatus } from './outbox-records.ts'
import type { Timestamp } from './timestamp.ts'
import type { RunKind, RunStatus } from './run-spec.ts'

export interface PageRequest {
  /** Only what is older than this row. */
  before?: number | undefined
  /** Most rows of the answer. */
  limit: number
}

export interface Page<Row> {
  items: Row[]
  /**
   * Where to go on; absent at the end. A page with few rows, or none, may still have one: how many rows are looked at
   * has a bound.
   */
  next?: number
}

export interface RequestFilter {
  hook?: string | undefined
  status?: RequestStatus | undefined
  /** At least one of its runs has this status. */
  runStatus?: RunStatus | undefined
  since?: Timestamp | undefined
  /** Text that the body holds, in any case. */
  text?: string | undefined
}

export interface RunFilter {
  status?: RunStatus | undefined
  kind?: RunKind | undefined
  /** The name of the hook whose runs are wanted. */
  hook?: string | undefined
  agentId?: string | undefined
  sessionKey?: string | undefined
}

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined
  channel?: string | undefined
}

/** How much is under way, what failed to be sent, and what is still to fire. */
export interface LiveCounts {
  runs: { queued: number; running: number }
  deliveries: Record<Exclude<DeliveryStatus, 'sent' | 'skipped'>, number>
  /** `nextAt`: when the next of them fires; null: there are none. */
  schedules: { count: number; nextAt: Timestamp | null }
}
