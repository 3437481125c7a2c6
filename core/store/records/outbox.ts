// Deliveries: messages that wait in the outbox for one recipient on a channel.
import type { Json } from '../../plugin.ts'
import type { NewEvent } from './events.ts'
import type { Timestamp } from './timestamp.ts'

export type DeliveryStatus = 'pending' | 'sending' | 'sent' | 'failed' | 'unknown' | 'skipped'

/** An account of a channel. */
export interface AccountRef {
  channel: string
  accountId: string
}

/** A file of an agent's workspace, which is read when it is sent. */
export interface DeliveryFile {
  /** The absolute path of the workspace. */
  folder: string
  /** The path inside the workspace. */
  path: string
  /** The name that the recipient sees. */
  name: string
  /** Media type. */
  type: string
}

/** A status other than `pending` records a message that is not sent, with the reason. */
export interface NewDelivery {
  /** `<runId>:<n>`, or an id of its own for a message that a tool sends. */
  id: string
  /** Empty for a message that an HTTP client sends. */
  runId: string
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
  text: string
  /** A file that is sent with the text. */
  file?: DeliveryFile | null
  status: 'pending' | 'failed' | 'skipped'
  reason: string | null
}

export interface StoredDelivery extends Omit<NewDelivery, 'status' | 'file'> {
  seq: number
  file: DeliveryFile | null
  status: DeliveryStatus
  attempt: number
  fencingToken: number
  /** The number of chunks that the platform has confirmed. */
  chunksSent: number
  /** True: it is unknown whether the platform received the next chunk, because the answer or the sender was lost. */
  uncertain: boolean
  platformId: string | null
  nextAt: Timestamp
  createdAt: Timestamp
}

/** A failure that the platform has reported after it had accepted the chunk. */
export interface LateFailureRecord {
  /** From 0. */
  chunk: number
  reason: string
  event: NewEvent
}

/**
 * The result of an attempt. `retry` returns the delivery to `pending`, due at `nextAt` (0: at once). `event` is stored
 * in the same transaction.
 */
export type DeliveryEnd =
  | { status: 'sent'; platformId: string | null }
  | { status: 'failed' | 'unknown'; reason: string; event?: NewEvent | undefined }
  | { status: 'retry'; reason: string; nextAt: Timestamp; uncertain: boolean }
