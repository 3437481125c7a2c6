// Filters, pages and counts of lists.
import type { RunKind, RunStatus } from '../run-spec.ts'
import type { DeliveryStatus } from './outbox.ts'
import type { RequestStatus } from './requests.ts'
import type { Timestamp } from './timestamp.ts'

export interface PageRequest {
  /** Returns only rows that are older than this one. */
  before?: number | undefined
  /** The maximum number of rows. */
  limit: number
}

export interface Page<Row> {
  items: Row[]
  /**
   * Where the next page starts; absent on the last page. A page may be short or empty and still have a next one,
   * because one call reads a limited number of rows.
   */
  next?: number
}

export interface RequestFilter {
  hook?: string | undefined
  status?: RequestStatus | undefined
  /** At least one run of the request has this status. */
  runStatus?: RunStatus | undefined
  since?: Timestamp | undefined
  /** Text that the body contains. Case is ignored. */
  text?: string | undefined
}

export interface RunFilter {
  status?: RunStatus | undefined
  kind?: RunKind | undefined
  /** The name of the hook that started the run. */
  hook?: string | undefined
  agentId?: string | undefined
  sessionKey?: string | undefined
}

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined
  channel?: string | undefined
}

/** Counts of live runs, of deliveries that were not sent, and of schedules. */
export interface LiveCounts {
  runs: { queued: number; running: number }
  deliveries: Record<Exclude<DeliveryStatus, 'sent' | 'skipped'>, number>
  /** `nextAt` is the time of the next firing; null when there are no schedules. */
  schedules: { count: number; nextAt: Timestamp | null }
}
