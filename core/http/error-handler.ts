// Replies to failed requests: through Fastify, and on the bare socket for input that never became a request.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import { traceIdOf } from '../telemetry/trace-context.ts'
import type { ResolveClient } from './client.ts'
import type { Listener } from './listener.ts'
import { envelope, errorHeaders, logFailure, rawResponse } from './replies.ts'

export type SendError = (error: GatewayError, request: FastifyRequest, reply: FastifyReply) => FastifyReply

interface ErrorHandlerDeps {
  log: Log
  listener: Listener
  resolveClient: ResolveClient
}

/**
 * Replies with the error envelope and writes one log line. Closes the connection when the gateway cannot trust the rest
 * of the request or does not want to wait for it.
 */
export function createErrorHandler({ log, listener, resolveClient }: ErrorHandlerDeps): SendError {
  return (error, request, reply) => {
    const { raw, rawBody } = request
    const bodyBytes = rawBody?.length || Number(raw.headers['content-length'] ?? 0)
    logFailure(log, error, {
      reqId: request.id,
      ...(request.trace && { traceId: traceIdOf(request.trace) }),
      method: raw.method ?? '',
      path: request.routeOptions.config.hasSecretPath ? (request.routeOptions.url ?? '') : pathOf(raw),
      bodyBytes,
      client: resolveClient(raw).address,
    })
    const mustClose = mustCloseConnection(error, raw)
    if (mustClose) listener.closeAfterReply(raw)
    return reply
      .code(error.status)
      .headers({ ...errorHeaders(error), ...(mustClose && { connection: 'close' }) })
      .send(envelope(error))
  }
}

/** An unread body up to this size is discarded and the connection stays open. For a larger or chunked one it closes. */
const maxDiscardedBytes = 65_536

function mustCloseConnection({ code }: GatewayError, { complete, headers }: IncomingMessage): boolean {
  if (code === 'malformed_http' || code === 'headers_too_large' || code === 'request_timeout') return true
  const isLarge =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > maxDiscardedBytes
  return !complete && isLarge
}

/** Returns a function that logs a failure below Fastify and renders the whole HTTP response as text. */
export function createRawErrorReply(log: Log, createRequestId: () => string) {
  return (code: ErrorCode, socket: Socket): string => {
    const error = new GatewayError(code)
    const reqId = createRequestId()
    logFailure(log, error, { reqId, client: socket.remoteAddress })
    return rawResponse(error, reqId)
  }
}

/** The path of a request without its query. */
export const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] as string
