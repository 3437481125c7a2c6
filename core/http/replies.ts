// How a failure reaches its caller and the log: one envelope, the headers of every response, one log line.
import { type ErrorCode, errorTable, GatewayError, throwSiteOf } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { STATUS_CODES } from './node-http.ts'

/** What every failure looks like, at every route group. */
export interface Envelope {
  ok: false
  error: { type: ErrorCode; message: string }
}

export const envelope = (error: GatewayError): Envelope => ({
  ok: false,
  error: { type: error.code, message: error.publicMessage },
})

/** The headers that every response carries beside its request id. */
export const securityHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' } as const

/** Anything thrown → an error of the table. What we do not know is an `internal_error`; its text stays inside. */
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

/** The headers that this failure adds. Whoever may come again is told when, in whole seconds. */
export function headersOf(error: GatewayError): Record<string, string> {
  if (error.status === 426) return { connection: 'upgrade', upgrade: 'websocket' }
  if (error.status === 401) return { 'www-authenticate': 'Bearer' }
  if (error.status === 429 || error.status === 503)
    return { 'retry-after': String(Math.max(1, Math.ceil(error.retryAfter ?? 1))) }
  return {}
}

export interface FailedRequest {
  reqId: string
  method?: string
  /** Without the query, which may hold a token. */
  path?: string
  /** Bytes of the body, as received or as announced. */
  bodyBytes?: number
  client: string | undefined
}

/** One line for each failure. Never a header, a payload or the text of an unknown error: they may hold secrets. */
export function logFailure(log: Log, error: GatewayError, request: FailedRequest): void {
  const fields = { ...request, status: error.status, type: error.code }
  // Whoever asks while the gateway starts or stops has met no fault of it.
  if (error.status >= 500 && error.code !== 'shutting_down')
    log.error({ ...fields, ...throwSiteOf(error.cause) }, 'request failed')
  else log.info(fields, 'request refused')
}

/** A whole response, for requests that never became one. */
export function rawResponse(error: GatewayError, reqId: string): string {
  const body = JSON.stringify(envelope(error))
  const headers = {
    ...headersOf(error),
    ...securityHeaders,
    'x-request-id': reqId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
