// Webhook requests, as they are logged and listed.
import type { Json } from '../../plugin.ts'
import type { Timestamp } from './timestamp.ts'

export interface NewRequest {
  id: string
  hook: string
  client: string
  /** A JSON object, redacted by the caller. It crosses to the store's thread as text, which costs half as much. */
  headers: string
  /** The query string as a JSON object, redacted by the caller; absent when there was none. */
  query?: string | undefined
  /** The raw body; null when the request was refused before its body was read. */
  body: string | null
  /** The id of the request that an operator replayed. */
  replayOf?: string | undefined
  /** Absent: the sender presented the hook token, or an operator replayed the request. */
  authentication?: Authentication | undefined
}

/** How a sender proved its identity. */
export interface Authentication {
  scheme: string
  /** The index of the secret among the mapping's secrets; absent if the scheme has none. */
  secret?: number | undefined
}

export type RequestStatus = 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'

/** A request that started nothing, and why. */
export interface NewRefusal extends NewRequest {
  status: Exclude<RequestStatus, 'accepted'>
  error?: { type: string; message: string } | undefined
  /** Why a request was skipped, if no transform or preset decided it. */
  reason?: SkipReason | undefined
  /** With the reason `skip`. */
  skippedBy?: SkippedBy | undefined
}

/** It was a verification request of the sender, or met the conditions in the key `skip` of its mapping. */
export type SkipReason = 'handshake' | 'skip'

export interface SkippedBy {
  /** The id of the mapping. */
  mapping: string
  /** The index of the conditions in `skip`. */
  rule: number
}

/** What a request led to. */
export interface RequestResult {
  runIds?: readonly string[]
  eventIds?: readonly string[]
  error?: { type: string; message: string }
  reason?: SkipReason
  skippedBy?: SkippedBy
  replayOf?: string
  authentication?: Authentication
}

/** A request in a list, without its headers and its body. */
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
