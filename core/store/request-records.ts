// The log of what came in, as it is handed in and out.
import type { Json } from '../plugin.ts'
import type { Timestamp } from './timestamp.ts'

/** One line of the log of what came in. */
export interface NewRequest {
  id: string
  hook: string
  client: string
  /** A JSON object, redacted before it gets here: as text it costs the thread that takes requests half as much. */
  headers: string
  /** What stood in the address behind the question mark: a JSON object, redacted; absent: nothing. */
  query?: string | undefined
  /** As it came; null when it was refused before it was read. */
  body: string | null
  /** The request that an operator had repeated. */
  replayOf?: string | undefined
  /** Absent: its sender showed the hook token, or an operator had it repeated. */
  authentication?: Authentication | undefined
}

/** How a sender proved who it is. */
export interface Authentication {
  scheme: string
  /** The place of the secret among those of the mapping; absent where the scheme has none. */
  secret?: number | undefined
}

export type RequestStatus = 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'

/** A request that led to nothing, and why. */
export interface NewRefusal extends NewRequest {
  status: Exclude<RequestStatus, 'accepted'>
  error?: { type: string; message: string } | undefined
  /** Of one that was skipped: it only asked whether somebody is there. */
  reason?: 'handshake' | undefined
}

/** What became of a request. */
export interface RequestResult {
  runIds?: readonly string[]
  eventIds?: readonly string[]
  error?: { type: string; message: string }
  reason?: 'handshake'
  replayOf?: string
  authentication?: Authentication
}

/** A request in a list: without its headers and its body. */
export interface RequestSummary extends Pick<NewRequest, 'id' | 'hook' | 'client'> {
  seq: number
  at: Timestamp
  status: RequestStatus
  result: RequestResult
}

export interface StoredRequest extends RequestSummary, Pick<NewRequest, 'body'> {
  headers: Json
  query: Json
}
