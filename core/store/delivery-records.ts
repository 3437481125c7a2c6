// The log of what came in, as it is handed in and out.
import type { Json } from '../plugin.ts'
import type { Timestamp } from './timestamp.ts'

/** One line of the log of what came in. */
export interface NewDelivery {
  id: string
  hook: string
  client: string
  /** A JSON object, redacted before it gets here: as text it costs the thread that takes requests half as much. */
  headers: string
  /** What stood in the address behind the question mark: a JSON object, redacted; absent: nothing. */
  query?: string | undefined
  /** As it came; null when it was refused before it was read. */
  body: string | null
  /** The delivery that an operator had repeated. */
  replayOf?: string | undefined
  /** Absent: its sender showed the hook token, or an operator had it repeated. */
  proof?: Proof | undefined
}

/** How a sender proved who it is. */
export interface Proof {
  scheme: string
  /** The place of the secret among those of the mapping; absent where the scheme has none. */
  secret?: number | undefined
}

export type DeliveryStatus = 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'

/** A delivery that led to nothing, and why. */
export interface NewRefusal extends NewDelivery {
  status: Exclude<DeliveryStatus, 'accepted'>
  error?: { type: string; message: string } | undefined
  /** Of one that was skipped: it only asked whether somebody is there. */
  reason?: 'handshake' | undefined
}

/** What became of a delivery. */
export interface DeliveryResult {
  runIds?: readonly string[]
  eventIds?: readonly string[]
  error?: { type: string; message: string }
  reason?: 'handshake'
  replayOf?: string
  proof?: Proof
}

/** A delivery in a list: without its headers and its body. */
export interface DeliveryLine extends Pick<NewDelivery, 'id' | 'hook' | 'client'> {
  seq: number
  at: Timestamp
  status: DeliveryStatus
  result: DeliveryResult
}

export interface StoredDelivery extends DeliveryLine, Pick<NewDelivery, 'body'> {
  headers: Json
  query: Json
}
