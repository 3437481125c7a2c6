// Makes plain errors of those of Google's libraries, which hold the request with its tokens.
import { clip, connectError, resultOfResponse } from 'svc-gateway/kit'
import { AuthError } from 'svc-gateway/plugin'
import { type Service, setupHint } from './credentials.ts'
import { defaultUrls } from './settings.ts'

/** Whether Google has answered a call with this status. */
export const hasStatus = (error: unknown, status: number): boolean =>
  (error as { googleStatus?: number } | undefined)?.googleStatus === status

/** What the libraries throw, as far as it is read. */
export interface Failure extends Error {
  code?: string | number
  response?: { status: number; headers: Headers; data?: unknown }
  config?: { url?: string | URL; retryConfig?: { currentRetryAttempt?: number } }
}

/** The body of a refusal. The token endpoint says only a code. */
interface Refusal {
  error?:
    | string
    | { message?: string; errors?: readonly { reason?: string }[]; details?: readonly { reason?: string }[] }
}

const names: Readonly<Record<Service, string>> = { gmail: 'Gmail', pubsub: 'Google Pub/Sub' }

/** Of a call of the API. */
export function apiError(failure: Failure, { service, url }: { service: Service; url: string }): Error {
  const { response } = failure
  if (!response) return unansweredError(failure, { name: names[service], url, key: service })
  if (reasonsOf(failure).some((reason) => scopeReasons.has(reason)))
    return new AuthError(`The access that Google has granted does not cover ${names[service]}; ${authorizeHint}.`)
  if (isRateLimit(failure)) return rateLimitError(failure)
  const { error } = (response.data ?? {}) as Refusal
  const message = (typeof error === 'object' && error.message) || 'without a reason'
  const { status } = response
  return Object.assign(new Error(`Google answered ${status}: ${clip(message, 300)}`), { googleStatus: status })
}

/** Of a call for an access token. Google knows the credentials and refuses them if it names a code. */
export function tokenError(failure: Failure, { account, url }: { account: string; url: string }): Error {
  const { response } = failure
  if (!response) return unansweredError(failure, { name: "Google's sign-in", url, key: 'token' })
  if (isRateLimit(failure)) return rateLimitError(failure)
  const { status, data } = response
  const { error: code } = (data ?? {}) as Refusal
  if (status >= 500 || typeof code !== 'string' || !/^[a-z_]{1,40}$/.test(code))
    return new Error(`Google issues no access token at the moment (${status}).`)
  return new AuthError(`Google refuses the credentials of ${account} (${code}); to authorise again, ${setupHint}.`)
}

const authorizeHint = 'run "svc-gateway gmail setup" with --client, and agree to everything'
const scopeReasons: ReadonlySet<string> = new Set(['ACCESS_TOKEN_SCOPE_INSUFFICIENT', 'insufficientPermissions'])
const rateReasons: ReadonlySet<string> = new Set(['rateLimitExceeded', 'userRateLimitExceeded', 'RATE_LIMIT_EXCEEDED'])

/** Google answers 429, or 403 with a reason. */
export const isRateLimit = (failure: Failure): boolean =>
  failure.response?.status === 429 ||
  (failure.response?.status === 403 && reasonsOf(failure).some((reason) => rateReasons.has(reason)))

export function retryAfterMs({ response }: Failure): number | undefined {
  const result = response && resultOfResponse({ status: 429, headers: response.headers })
  return result?.outcome === 'failed' ? result.retryAfterMs : undefined
}

function rateLimitError(failure: Failure): Error {
  const ms = retryAfterMs(failure)
  const duration = ms === undefined ? 'at the moment' : `for ${Math.ceil(ms / 1000)} seconds`
  return Object.assign(new Error(`Google allows no more calls ${duration}.`), { retryAfterMs: ms })
}

function reasonsOf({ response }: Failure): string[] {
  const { error } = (response?.data ?? {}) as Refusal
  if (typeof error !== 'object') return []
  return [...(error.errors ?? []), ...(error.details ?? [])].flatMap(({ reason }) => reason ?? [])
}

function unansweredError(
  failure: Failure,
  { name, url, key }: { name: string; url: string; key: keyof typeof defaultUrls },
): Error {
  // The library's own code for a timeout is none of Node's.
  const cause = failure.code === 'TimeoutError' ? new DOMException('', 'TimeoutError') : failure
  const isProxy = url !== defaultUrls[key]
  const error = connectError(cause, { name, url, ...(isProxy && { setting: `hooks.gmail.watch.urls.${key}` }) })
  return error === failure ? new Error(`${name} could not be asked: ${failure.message}`) : error
}
