// The interface of a verifier: what it gets of a request, and the verdict that it returns.
import type { HookScheme } from '../../config/schema/hook-auth.ts'

/** A request as its sender signed it. */
export interface SignedRequest {
  /** Returns the value of a header; `name` is in lower case. */
  header: (name: string) => string | undefined
  /** The body as received: a body that was parsed and serialized again has another signature. */
  rawBody: Buffer
  method: string
  /** Returns the full URL that the sender called. */
  url: () => string
  /** Milliseconds since 1970. */
  now: number
}

/** A reply that a service expects instead of the gateway's own. */
export interface ServiceReply {
  contentType: string
  body: string
}

/**
 * `secretIndex` is the position of the secret that was used; absent: the scheme has no secrets. `id` is the id of the
 * request, where the signature covers it and a second sender cannot change it. `handshake` is the whole reply to a
 * request that is a handshake and carries no event; `acknowledgement` is the reply to an accepted or skipped event.
 * `reason` is for the log only: it would help an attacker.
 */
export type Verdict =
  | {
      ok: true
      secretIndex?: number
      id?: string | undefined
      handshake?: ServiceReply | undefined
      acknowledgement?: ServiceReply | undefined
    }
  | { ok: false; reason: string }

export interface Verifier {
  readonly scheme: HookScheme
  /** Headers, in lower case, that hold a secret or a signature. */
  readonly hiddenHeaders: readonly string[]
  /** Whether the signature covers the body. */
  readonly signsBody: boolean
  /** Rejects with `keys_unavailable` when public keys cannot be fetched, or with the error of `request.header`. */
  verify(request: SignedRequest): Verdict | Promise<Verdict>
  /** Returns the reply to a handshake that comes as a GET. Absent: the scheme has no such handshake. */
  answerChallenge?(query: URLSearchParams): ServiceReply | undefined
  /** The generic verification requests that it answers. */
  readonly echo?: Echo
}

/** Verification requests that are answered with what they contain, whoever sends them. */
export interface Echo {
  /** The parameter of a GET whose value is echoed as text. */
  query?: string | undefined
  /** The header of a POST, in lower case, that is echoed in the response. */
  header?: string | undefined
  /** Whether HEAD is answered with 200. */
  head: boolean
}

export const rejected = (reason: string): Verdict => ({ ok: false, reason })

/** An echo is sent as plain text, so that no browser renders it as a page. */
export const plainText = (body: string): ServiceReply => ({ contentType: 'text/plain; charset=utf-8', body })

export const jsonReply = (value: object): ServiceReply => ({
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
})
