// Replies to failed requests: through Fastify, and on the bare socket for what never became a request.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import type { ClientOf } from './client.ts'
import type { Listener } from './listener.ts'
import { envelope, headersOf, logFailure, rawResponse } from './replies.ts'

export type Fail = (error: GatewayError, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/**
 * Answers with the envelope, leaves one log line, and ends the connection where the rest of the request can't be
 * trusted or awaited.
 */
export function createErrorHandler({
  log,
  listener,
  clientOf,
}: {
  log: Log
  listener: Listener
  clientOf: ClientOf
}): Fail {
  return (error, request, reply) => {
    const { raw, rawBody } = request
    const bodyBytes = rawBody?.length || Number(raw.headers['content-length'] ?? 0)
    logFailure(log, error, {
      reqId: request.id,
      method: raw.method ?? '',
      path: pathOf(raw),
      bodyBytes,
      client: clientOf(raw).address,
    })
    const ends = endsConnection(error, raw)
    if (ends) listener.closeAfterAnswer(raw)
    return reply
      .code(error.status)
      .headers({ ...headersOf(error), ...(ends && { connection: 'close' }) })
      .send(envelope(error))
  }
}

/**
 * A body of this size that nobody reads is thrown away and the connection kept; a larger one, or one of unknown size,
 * is not awaited.
 */
const awaitedBytes = 65_536

function endsConnection({ code }: GatewayError, { complete, headers }: IncomingMessage): boolean {
  if (code === 'malformed_http' || code === 'headers_too_large' || code === 'request_timeout') return true
  return (
    !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > awaitedBytes)
  )
}

export function createRefusal(log: Log, nextId: () => string) {
  return (code: ErrorCode, socket: Socket): string => {
    const error = new GatewayError(code)
    const reqId = nextId()
    logFailure(log, error, { reqId, client: socket.remoteAddress })
    return rawResponse(error, reqId)
  }
}

export const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] as string
