// Describes a model failure: a message that is safe to show anywhere, and a detail for the run's record only.
import { GatewayError } from '../errors.ts'
import {
  findAnswerError,
  isAboutAnswer,
  readPage,
  readSaidError,
  type SaidError,
  type WireError,
} from './service-error.ts'

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
  /** True if the prompt is longer than the model can read. */
  readonly isTooLong: boolean
  /** How long the service asks clients to wait. */
  readonly retryAfterMs: number | undefined

  constructor(cause: unknown, { provider, secrets, sentence }: ModelErrorOptions) {
    const last = findAnswerError(findLastError(cause))
    const said = readSaidError(last)
    const isPromptTooLong = isTooLong(said)
    super('model_failed', sentence ?? (isPromptTooLong ? tooLongSentence : describeCause(last, said)), { cause })
    this.provider = provider
    this.isTooLong = isPromptTooLong
    this.isTransient = !isPromptTooLong && isTransient(last, said)
    this.isRefusal = isPromptTooLong || isRefusal(said, this.isTransient)
    this.retryAfterMs = readRetryAfterMs(last)
    this.detail = removeSecrets(formatError(last), secrets).slice(0, maxDetailLength).toWellFormed()
  }
}

/** The library wraps the errors of several attempts. The last one counts. */
function findLastError(error: unknown): WireError {
  const wire = (error ?? {}) as WireError
  return wire.lastError ?? wire
}

const tooLongSentence =
  'The prompt is longer than the model can read, even without the earlier conversation; send less, or use a model with ' +
  'a larger context window. A lower session.historyTokens, or /new, makes prompts shorter.'

/** How services say so. Most answer 400 or 413; a limit of tokens per minute is 429. */
const tooLong = new RegExp(
  [
    'context_length_exceeded|exceed_context_size|request_too_large|string_above_max_length',
    '(?:prompt|input|request|message|conversation)s? (?:is|are) too (?:long|large)',
    'exceed(?:s|ed)? (?:the |this |your )?(?:model.s )?(?:available |maximum |max )?(?:context|token limit|model token limit)',
    'exceeds the (?:maximum number of tokens|limit of \\d+)|max_tokens exceed context limit',
    'maximum (?:context|prompt|input) length|context window exceeds|greater than the context length',
    'reduce the length of the (?:messages|prompt|input)|too many (?:input )?tokens|token limit exceeded',
  ].join('|'),
  'i',
)

const isTooLong = ({ status, codes, text }: SaidError): boolean =>
  status === 413 || (status !== 429 && tooLong.test(`${codes} ${text}`) && !rateLimit.test(`${codes} ${text}`))

const rateLimit = /rate.?limit|per.?(?:minute|hour|day)|quota/i

const refusals: ReadonlySet<number> = new Set([400, 413, 422])
/** Codes of errors that are about the text of the prompt, and of those that trying again does not mend. */
const refusedPrompt = /invalid_(?:request|prompt|argument)|content_filter|policy|moderation|safety|bad_request/i
const refusedCall = new RegExp(
  `${refusedPrompt.source}|authenticat|invalid_api_key|permission|unauthorized|forbidden|not_found|billing|insufficient_quota|unsupported`,
  'i',
)
/** The account has no credit left. OpenAI answers 429 for it, as for a limit that passes. */
const usedUp = /insufficient_quota|billing/i

/** True if trying again does not mend the error, although its status is that of a limit that passes. */
export const isUsedUp = (error: unknown): boolean =>
  usedUp.test(readSaidError(findAnswerError(findLastError(error))).codes)
/** The same in words, for errors without a code. */
const refusedWords =
  /(?:invalid|incorrect) api key|unauthori[sz]ed|not authenticated|permission denied|forbidden|content (?:management )?policy|\b(?:model|deployment)\b.{0,80}\b(?:not found|does not exist|not supported)/i

const isRefusal = ({ status, codes }: SaidError, isPassing: boolean): boolean =>
  (status !== undefined && refusals.has(status)) || (!isPassing && refusedPrompt.test(codes))

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

/** What a service said within its answer passes unless it names a refusal: most of it is trouble of the service. */
function isTransient(error: WireError, { status, codes, text }: SaidError): boolean {
  const { name, message = '' } = error
  // Within a stream, the library takes a code that it does not know for a 500.
  if (status === 429) return !usedUp.test(codes)
  if (status !== undefined) return status === 408 || (status >= 500 && !refusedCall.test(codes))
  const isIncomplete =
    ['BrokenStreamError', 'SilentModelError'].includes(name ?? '') || /stream ended without a finish/.test(message)
  if (isIncomplete || isOverload(error) || isNetworkError(error)) return true
  return isAboutAnswer(error) && !refusedCall.test(codes) && !refusedWords.test(text)
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

function describeCause(error: WireError, { status: statusCode, codes, text }: SaidError): string {
  const { name, message, cause } = error
  if (name === 'SilentModelError' && message !== undefined) return message
  if (statusCode === 401 || statusCode === 403)
    return `The model's service refused the credential (${statusCode}); check the apiKey of its provider.`
  if (usedUp.test(codes)) return "The account at the model's service has no credit left; check its plan and billing."
  if (statusCode === 429) return "The model's service is over its limit (429)."
  if (statusCode !== undefined) return `The model's service answered ${statusCode}.`
  if (name === 'AI_APICallError' && error.statusCode === undefined) return "The model's service could not be reached."
  if (name === 'AI_LoadAPIKeyError') return 'The model needs an API key; set the apiKey of its provider.'
  if (isInAnswer(name) && (codes || text)) return "The model's service reported an error in place of its answer."
  return cause instanceof GatewayError ? cause.message : "The model's answer broke off or was not valid."
}

const isInAnswer = (name: string | undefined): boolean =>
  name === undefined || /^(?:AI_(?:JSONParse|TypeValidation|StreamProvider)Error|UnexpectedAnswerError)$/.test(name)

/** The words of the service follow those of the library. Some providers pass the service's own error on unchanged. */
function formatError({ name, message, text, responseBody = '', ...error }: WireError): string {
  const words = readPage(name === 'UnexpectedAnswerError' ? String(text) : responseBody)
  // In JSON, quotes in the message are escaped.
  const isSaid =
    name !== 'UnexpectedAnswerError' &&
    Boolean(message) &&
    [message, JSON.stringify(message).slice(1, -1)].some((said) => words.includes(String(said)))
  const known = [name, message].filter(Boolean).join(': ')
  if (known === '' && words === '') return JSON.stringify(error)
  return isSaid || words === '' ? known : `${known} ${words}`
}

/** Matches the usual forms of API keys, masked ones too: services quote the key that they refuse. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9*.]{8,}|\bBearer\s+\S+/g

function removeSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text).replace(keyLike, '[secret]')
}
