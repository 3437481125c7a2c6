// Turns the answer or the error of an HTTP call into the result of an attempt to send a message.
import type { SendResult } from '../plugin/channel.ts'

type Unsent = Exclude<SendResult, { outcome: 'sent' }>

/**
 * The result of sending when the platform answered with an error status. 401 and 403 are `auth`, 429 is `rate`, 503 is
 * `transient`; other 4xx are `permanent`, and after other 5xx it is unknown whether the message arrived.
 */
export function resultOfResponse({ status, headers }: Pick<Response, 'status' | 'headers'>): Unsent {
  const detail = `The platform answered ${status}.`
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'))
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
  if (status === 429) return { outcome: 'failed', reason: 'rate', detail, ...wait }
  if (status === 503) return { outcome: 'failed', reason: 'transient', detail, ...wait }
  if (status === 401 || status === 403) return { outcome: 'failed', reason: 'auth', detail }
  if (status >= 400 && status < 500) return { outcome: 'failed', reason: 'permanent', detail }
  return { outcome: 'unknown', detail }
}

/** Codes of errors after which the request was certainly not sent. */
const unsentCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * The result of sending when `fetch` or a library on top of it threw. A refused connection and an unknown host are
 * `transient`; anything else is `unknown`, because the platform may have accepted the message before.
 */
export function resultOfError(error: unknown): Unsent {
  const codes = codesOf(error)
  const detail = `The platform could not be reached${codes[0] === undefined ? '' : ` (${codes[0]})`}.`
  if (codes.some((code) => unsentCodes.has(code))) return { outcome: 'failed', reason: 'transient', detail }
  return { outcome: 'unknown', detail: codes[0] === undefined ? 'The answer of the platform was lost.' : detail }
}

/** The codes of an error and of its causes. `fetch` throws a TypeError with the socket's error as its cause. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = []
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { code } = current as NodeJS.ErrnoException
    if (typeof code === 'string') codes.push(code)
    if (current instanceof AggregateError) codes.push(...current.errors.flatMap(codesOf))
  }
  return codes
}

/** Seconds, or an HTTP date. */
export function parseRetryAfter(value: string | null): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}
