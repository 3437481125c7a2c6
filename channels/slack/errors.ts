// What errors of the Web API mean: refused credentials, or the result of a send.
import { AuthError, type SendResult } from 'svc-gateway/plugin'
import { connectError, connectStatusError, resultOfError, resultOfResponse } from 'svc-gateway/kit'

export type Unsent = Exclude<SendResult, { outcome: 'sent' }>

/** The members of the library's errors that are read here. Each kind of error has some of them. */
interface ApiError {
  data?: { error?: unknown; needed?: unknown }
  retryAfter?: number
  statusCode?: number
  headers?: Record<string, string>
  original?: unknown
}

const refusals: ReadonlySet<string> = new Set([
  'account_inactive',
  'invalid_auth',
  'not_allowed_token_type',
  'not_authed',
  'team_disabled',
  'token_expired',
  'token_revoked',
  'user_removed_from_team',
])

/** Slack did nothing, and may do it later. */
const passing: ReadonlySet<string> = new Set(['request_timeout', 'service_unavailable', 'team_added_to_org'])

/** Slack may have done a part of it. */
const unclear: ReadonlySet<string> = new Set(['fatal_error', 'internal_error'])

const limited: ReadonlySet<string> = new Set(['rate_limited', 'ratelimited'])

/** Slack's code for the refusal of a call. Anything else in its place, such as the page of a proxy, has none. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as ApiError | undefined)?.data?.error
  return typeof code === 'string' && /^[a-z0-9_]{1,60}$/.test(code) ? code : undefined
}

/** An `AuthError` if Slack refuses the token, otherwise an error with a plain message. */
export function toAuthError(error: unknown, { token, apiRoot }: { token: string; apiRoot: string }): Error {
  const service = { name: 'Slack', url: apiRoot, setting: 'apiRoot' }
  const { data, statusCode, retryAfter, original } = (error ?? {}) as ApiError
  const code = codeOf(error)
  const needed = typeof data?.needed === 'string' && /^[a-z:_.,]{1,100}$/.test(data.needed) ? data.needed : undefined
  if (code === 'missing_scope' && needed !== undefined)
    return new Error(`Slack refused ${token} (${code}): it needs the scope ${needed}.`)
  if (code !== undefined && refusals.has(code))
    return new AuthError(`Slack refuses ${token} (${code}). Copy it again from the pages of the app.`)
  if (code !== undefined) return new Error(`Slack refused ${token} (${code}).`)
  if (retryAfter !== undefined) return Object.assign(new Error(limitDetail), { retryAfterMs: retryAfter * 1000 })
  if (statusCode !== undefined) return connectStatusError({ status: statusCode }, service)
  return connectError(new TypeError('no answer of Slack', { cause: original ?? error }), service)
}

/** The result of a send whose call failed. */
export function toUnsent(error: unknown): Unsent {
  const { data, retryAfter, statusCode, headers, original } = (error ?? {}) as ApiError
  if (retryAfter !== undefined)
    return { outcome: 'failed', reason: 'rate', detail: limitDetail, retryAfterMs: retryAfter * 1000 }
  if (statusCode !== undefined) return resultOfResponse({ status: statusCode, headers: new Headers(headers) })
  if (original !== undefined) return resultOfError(original)
  if (data === undefined) return resultOfError(error)
  return ofCode(codeOf(error))
}

const limitDetail = 'Slack limits the rate of messages.'

function ofCode(code: string | undefined): Unsent {
  if (code === undefined) return { outcome: 'unknown', detail: 'Slack gave an answer that is not JSON.' }
  const detail = `Slack refused the message (${code}).`
  if (unclear.has(code)) return { outcome: 'unknown', detail }
  if (limited.has(code)) return { outcome: 'failed', reason: 'rate', detail: limitDetail }
  if (passing.has(code)) return { outcome: 'failed', reason: 'transient', detail }
  return { outcome: 'failed', reason: refusals.has(code) ? 'auth' : 'permanent', detail }
}

/** The result if a call failed that comes before the message itself: then the message was certainly not sent. */
export function toUnsentBefore(error: unknown): Unsent {
  const result = toUnsent(error)
  return result.outcome === 'unknown' ? { outcome: 'failed', reason: 'transient', detail: result.detail } : result
}
