// The interface of a verifier: what it gets of a request, and the verdict that it returns.
import type { SignedRequest, Verdict } from '../../plugin/plugin.ts'

/** A reply that a service expects instead of the gateway's own. */
export interface ServiceReply {
  contentType: string
  body: string
}

/**
 * The verdict about a request. `secretIndex` is the position of the secret that was used; absent: the scheme has no
 * secrets. `handshake` is the whole reply to a request that is a handshake and carries no event; `acknowledgement` is
 * the reply to an accepted or skipped event. `reason` is for the log only: it would help an attacker.
 */
export type Verified = Verdict & {
  handshake?: ServiceReply | undefined
  acknowledgement?: ServiceReply | undefined
}

export interface Verifier {
  readonly scheme: string
  /** Headers, in lower case, that hold a secret or a signature. */
  readonly hiddenHeaders: readonly string[]
  /** Whether the signature covers the body. */
  readonly signsBody: boolean
  /**
   * Rejects with `scheme_failed` when the code of the scheme fails, with `keys_unavailable` when public keys cannot be
   * fetched, or with the error of `request.header`.
   */
  verify(request: SignedRequest): Verified | Promise<Verified>
  /** Returns the reply to a handshake that comes as a GET. Absent: the scheme has no such handshake. */
  answerChallenge?: ((query: URLSearchParams) => ServiceReply | undefined) | undefined
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
