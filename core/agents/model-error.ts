// A model's failure: a sentence that is safe anywhere, and a detail for the run's record alone.
import { GatewayError } from '../errors.ts'
import type { Json } from '../plugin.ts'

/** Longest detail, in characters. */
const maxDetail = 500

interface ModelErrorOptions {
  /** What must not appear in the detail. */
  secrets: readonly string[]
  /** Instead of the sentence that the cause suggests. */
  sentence?: string | undefined
  /** What the model and the tools had said before it failed. */
  progress?: readonly Json[] | undefined
}

export class ModelError extends GatewayError {
  /**
   * What the provider said, shortened and without secrets. It may hold parts of the prompt: for the run's record only.
   */
  readonly detail: string
  /** True: the service is overloaded, out of order or out of reach, and may well answer later. */
  readonly isPassing: boolean
  /** How long the service wants to be left alone. */
  readonly retryAfterMs: number | undefined
  readonly progress: readonly Json[]

  constructor(cause: unknown, { secrets, sentence, progress = [] }: ModelErrorOptions) {
    const last = lastError(cause)
    super('model_failed', sentence ?? sentenceOf(last), { cause })
    this.isPassing = isPassing(last)
    this.retryAfterMs = retryAfterMs(last)
    this.progress = progress
    this.detail = scrub(textOf(last), secrets).slice(0, maxDetail).toWellFormed()
  }
}

/**
 * The fields of the model library's errors that matter; read by shape, so that the library need not be loaded to fail.
 */
interface WireError {
  name?: string
  message?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
  /** Some services put their own errors into the stream. */
  type?: unknown
  code?: unknown
  lastError?: WireError
  cause?: unknown
}

/** After several attempts, the last one tells. */
function lastError(error: unknown): WireError {
  const wire = (error ?? {}) as WireError
  return wire.lastError ?? wire
}

/** An answer that broke off before its end. */
export class BrokenStreamError extends Error {
  override readonly name = 'BrokenStreamError'
}

function isPassing(error: WireError): boolean {
  const { statusCode, name, message = '' } = error
  if (statusCode !== undefined && statusCode !== 200)
    return statusCode === 408 || statusCode === 429 || statusCode >= 500
  const unreached = name === 'AI_APICallError' && statusCode === undefined
  const brokenOff = name === 'BrokenStreamError' || /stream ended without a finish/.test(message)
  return unreached || brokenOff || isOverload(error) || isNetworkError(error)
}

/** As Anthropic and OpenAI name what befalls a stream that has begun. */
const isOverload = ({ type, code }: WireError): boolean =>
  [type, code].some((word) => /overloaded|rate_limit|server_error|api_error|timeout/.test(String(word)))

const networkErrors =
  /^(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|UND_ERR_[A-Z_]+)$/

/** The system's own word for it stands somewhere among the causes. */
function isNetworkError({ code, cause }: WireError, depth = 0): boolean {
  if (typeof code === 'string' && networkErrors.test(code)) return true
  return typeof cause === 'object' && cause !== null && depth < 5 && isNetworkError(cause, depth + 1)
}

/** Services give it in seconds, as a date, or in milliseconds; where they give several, the longest counts. */
function retryAfterMs({ responseHeaders = {} }: WireError): number | undefined {
  const { 'retry-after-ms': ms, 'retry-after': after } = responseHeaders
  const waits = [Number(ms), Number(after) * 1000, Date.parse(after ?? '') - Date.now()].filter(
    (wait) => Number.isFinite(wait) && wait >= 0,
  )
  return waits.length > 0 ? Math.max(...waits) : undefined
}

function sentenceOf({ statusCode, name, cause }: WireError): string {
  if (statusCode === 401 || statusCode === 403)
    return `The model's service refused the credential (${statusCode}); check the apiKey of its provider.`
  if (statusCode === 429) return "The model's service is over its limit (429)."
  if (statusCode !== undefined && statusCode !== 200) return `The model's service answered ${statusCode}.`
  if (name === 'AI_APICallError' && statusCode === undefined) return "The model's service could not be reached."
  if (name === 'AI_LoadAPIKeyError') return 'The model needs an API key; set the apiKey of its provider.'
  return cause instanceof GatewayError ? cause.message : "The model's answer broke off or was not valid."
}

/** Some providers put the service's own error object into the stream, as it came. */
const textOf = (error: WireError): string =>
  error.message ? [error.name, error.message].filter(Boolean).join(': ') : JSON.stringify(error)

/** Keys by their usual looks, masked ones too: services like to quote the key that they refuse. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9*.]{8,}|\bBearer\s+\S+/g

function scrub(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text).replace(keyLike, '[secret]')
}
