// The outbox, as it is handed in and out.
import type { Json } from '../plugin.ts'
import type { Timestamp } from './timestamp.ts'

export type DeliveryStatus = 'pending' | 'sending' | 'sent' | 'failed' | 'unknown' | 'skipped'

/** One message to one recipient. A status other than `pending` records what will not be sent, and why. */
export interface NewDelivery {
  /** `<runId>:<n>`; of a message that a tool sent, an id of its own. */
  id: string
  /** Empty: no run asked for it, but a client over HTTP. */
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

export interface StoredDelivery extends Omit<NewDelivery, 'status'> {
  seq: number
  status: DeliveryStatus
  attempt: number
  fencingToken: number
  /** How many of its chunks the platform has. */
  chunksSent: number
  /** True: nobody knows whether the platform got the chunk after those, for its answer or its sender was lost. */
  uncertain: boolean
  platformId: string | null
  nextAt: Timestamp
  createdAt: Timestamp
}

/** What an attempt came to. `retry` goes back to pending, due at `nextAt`; `uncertain` as in `StoredDelivery`. */
export type DeliveryEnd =
  | { status: 'sent'; platformId: string | null }
  | { status: 'failed' | 'unknown'; reason: string }
  | { status: 'retry'; reason: string; nextAt: Timestamp; uncertain: boolean }
