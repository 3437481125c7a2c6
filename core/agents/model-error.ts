// Describes a model failure: a message that is safe to show anywhere, and a detail for the run's record only.
import { GatewayError } from '../errors.ts'

/** In characters. */
const maxDetailLength = 500

interface ModelErrorOptions {
  /** The left side of `<provider>/<model>`. */
  provider: string
  /** Removed from the detail. */
  secrets: readonly string[]
  /** Replaces the sentence that the cause suggests. */
  sentence?: string | undefined
}

export class ModelError extends GatewayError {
  readonly provider: string
  /** The provider's own error, shortened, without secrets. It may quote the prompt: only for the run's record. */
  readonly detail: string
  /** True if the service is overloaded, broken or out of reach, so that a later attempt may succeed. */
  readonly isTransient: boolean
  /** True if the service refuses what it was sent, such as a prompt that is too long or breaks its rules. */
  readonly isRefusal: boolean
  /** How long the service asks clients to wait. */
  readonly retryAfterMs: number | undefined

  constructor(cause: unknown, { provider, secrets, sentence }: ModelErrorOptions) {
    const last = findLastError(cause)
    super('model_failed', sentence ?? describeCause(last), { cause })
    this.provider = provider
    this.isTransient = isTransient(last)
    this.isRefusal = last.statusCode !== undefined && refusals.has(last.statusCode)
    this.retryAfterMs = readRetryAfterMs(last)
    this.detail = removeSecrets(formatError(last), secrets).slice(0, maxDetailLength).toWellFormed()
  }
}

/** The relevant fields of the model library's errors, read by shape so that the library need not be loaded. */
interface WireError {
  name?: string
  message?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
  /** Some services send their own errors in the stream. */
  type?: unknown
  code?: unknown
  lastError?: WireError
  cause?: unknown
}

/** The library wraps the errors of several attempts. The last one counts. */
function findLastError(error: unknown): WireError {
  const wire = (error ?? {}) as WireError
  return wire.lastError ?? wire
}

const refusals: ReadonlySet<number> = new Set([400, 413, 422])

/** The stream ended before the reply was complete. */
export class BrokenStreamError extends Error {
  override readonly name = 'BrokenStreamError'
}

/** The model does not begin to answer, or stops within its answer, although the connection is open. */
export class SilentModelError extends Error {
  override readonly name = 'SilentModelError'

  constructor(predicate: string) {
    super(`The model's service ${predicate}.`)
  }
}

function isTransient(error: WireError): boolean {
  const { statusCode, name, message = '' } = error
  if (statusCode !== undefined && statusCode !== 200)
    return statusCode === 408 || statusCode === 429 || statusCode >= 500
  const isUnreachable = name === 'AI_APICallError' && statusCode === undefined
  const isIncomplete =
    ['BrokenStreamError', 'SilentModelError'].includes(name ?? '') || /stream ended without a finish/.test(message)
  return isUnreachable || isIncomplete || isOverload(error) || isNetworkError(error)
}

/** The names that Anthropic and OpenAI use for errors within a stream. */
const isOverload = ({ type, code }: WireError): boolean =>
  [type, code].some((word) => /overloaded|rate_limit|server_error|api_error|timeout/.test(String(word)))

const networkErrors =
  /^(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|UND_ERR_[A-Z_]+)$/

/** Looks for a system error code in the chain of causes. */
function isNetworkError({ code, cause }: WireError, depth = 0): boolean {
  if (typeof code === 'string' && networkErrors.test(code)) return true
  return typeof cause === 'object' && cause !== null && depth < 5 && isNetworkError(cause, depth + 1)
}

/** Services send seconds, a date or milliseconds. If they send several, the longest counts. */
function readRetryAfterMs({ responseHeaders = {} }: WireError): number | undefined {
  const { 'retry-after-ms': ms, 'retry-after': after } = responseHeaders
  const waits = [Number(ms), Number(after) * 1000, Date.parse(after ?? '') - Date.now()].filter(
    (wait) => Number.isFinite(wait) && wait >= 0,
  )
  return waits.length > 0 ? Math.max(...waits) : undefined
}

function describeCause({ statusCode, name, message, cause }: WireError): string {
  if (name === 'SilentModelError' && message !== undefined) return message
  if (statusCode === 401 || statusCode === 403)
    return `The model's service refused the credential (${statusCode}); check the apiKey of its provider.`
  if (statusCode === 429) return "The model's service is over its limit (429)."
  if (statusCode !== undefined && statusCode !== 200) return `The model's service answered ${statusCode}.`
  if (name === 'AI_APICallError' && statusCode === undefined) return "The model's service could not be reached."
  if (name === 'AI_LoadAPIKeyError') return 'The model needs an API key; set the apiKey of its provider.'
  return cause instanceof GatewayError ? cause.message : "The model's answer broke off or was not valid."
}

/** Some providers pass the service's own error object on unchanged. */
const formatError = (error: WireError): string =>
  error.message ? [error.name, error.message].filter(Boolean).join(': ') : JSON.stringify(error)

/** Matches the usual forms of API keys, masked ones too: services quote the key that they refuse. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9*.]{8,}|\bBearer\s+\S+/g

function removeSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text).replace(keyLike, '[secret]')
}
