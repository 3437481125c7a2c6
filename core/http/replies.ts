// The error envelope, the headers of every response, and the log line of a failed request.
import { type ErrorCode, errorTable, GatewayError, throwSiteOf } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Failure } from './failure.ts'
import { STATUS_CODES } from './node-http.ts'

/** The body of every error response, in every route group. */
export const envelope = (error: GatewayError): Failure => ({
  ok: false,
  error: { type: error.code, message: error.publicMessage },
})

/**
 * The headers that every response has in addition to its request id. A browser that opens one loads nothing for it and
 * shows it in no frame; pages have a policy of their own.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** Converts any thrown value. An unknown error becomes `internal_error`, and its text is never sent to the caller. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new GatewayError(codeOfStatus(status), undefined, { cause: error })
  return new GatewayError('internal_error', undefined, { cause: error })
}

function codeOfStatus(status: number): ErrorCode {
  const row = (Object.entries(errorTable) as [ErrorCode, readonly [number, string]][]).find(
    ([, [listed]]) => listed === status,
  )
  return row && status !== 400 ? row[0] : 'invalid_request'
}

/** The headers that an error response adds. `Retry-After` is in whole seconds. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  if (error.status === 426) return { connection: 'upgrade', upgrade: 'websocket' }
  if (error.status === 401) return { 'www-authenticate': 'Bearer' }
  if (error.status === 429 || error.status === 503)
    return { 'retry-after': String(Math.max(1, Math.ceil(error.retryAfter ?? 1))) }
  return {}
}

export interface FailedRequest {
  reqId: string
  traceId?: string
  method?: string
  /** Without the query, which may contain a token. */
  path?: string
  /** Size of the body: received, or announced in `Content-Length`. */
  bodyBytes?: number
  client: string | undefined
}

/** The start and the stop are expected, and the store logs its outages itself: one error for each. */
const reportedOnce: ReadonlySet<ErrorCode> = new Set(['shutting_down', 'store_unavailable', 'store_damaged'])

/** Writes one line per failure, without headers, payload or the text of an unknown error: these may contain secrets. */
export function logFailure(log: Log, error: GatewayError, request: FailedRequest): void {
  const fields = { ...request, status: error.status, type: error.code }
  if (error.status >= 500 && !reportedOnce.has(error.code))
    log.error({ ...fields, ...throwSiteOf(error.cause) }, 'request failed')
  else log.info(fields, 'request refused')
}

/** Renders a whole HTTP response, for input that never became a request. */
export function rawResponse(error: GatewayError, reqId: string): string {
  const body = JSON.stringify(envelope(error))
  const headers = {
    ...errorHeaders(error),
    ...securityHeaders,
    'x-request-id': reqId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
