// Reads request bodies: collects the bytes up to a limit, then parses them.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest, preValidationHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { headerReader } from './auth.ts'
import { decode } from './charset.ts'
import { type Accept, parsePayload } from './payload.ts'

export interface BodyOptions {
  /** The largest accepted size, in bytes. */
  maxBytes: number
  /** The accepted format. Absent: the bytes are not decoded or parsed. */
  accept?: Accept
}

/**
 * Reads the body of a POST before its schema is checked, and sets `request.rawBody`, `request.text` and `request.body`.
 * When the client disconnects before the end of the body, the handler never runs.
 */
export function readBody({ maxBytes, accept }: BodyOptions): preValidationHookHandler {
  return (request, _reply, done) => {
    const { raw } = request
    if (raw.method !== 'POST') return done()
    // Of two, Node would keep the first.
    headerReader(request)('content-type')
    const refusal = findRefusal(raw.headers, maxBytes)
    if (refusal) return done(refusal)
    return collect(raw, maxBytes, (error, bytes) => done(error ?? setBody(request, bytes)))
  }

  function setBody(request: FastifyRequest, bytes: Buffer): Error | undefined {
    try {
      request.rawBody = bytes
      if (!accept) return undefined
      const contentType = request.raw.headers['content-type']
      request.text = decode(bytes, contentType)
      request.body = parsePayload(request.text, accept, contentType)
      return undefined
    } catch (problem) {
      return problem as Error
    }
  }
}

const tooLarge = (maxBytes: number) =>
  new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes.`)

/** Why the body is not read at all. */
function findRefusal(headers: IncomingHttpHeaders, maxBytes: number): GatewayError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') return new GatewayError('unsupported_encoding')
  return Number(headers['content-length'] ?? 0) > maxBytes ? tooLarge(maxBytes) : undefined
}

const hasNoBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'

type CollectCallback = (error: Error | undefined, bytes: Buffer) => void

const empty = Buffer.alloc(0)

/** Calls back once, with all bytes or with an error. Never calls back when the client disconnects. */
function collect(stream: IncomingMessage, maxBytes: number, done: CollectCallback): void {
  if (hasNoBody(stream.headers)) return done(undefined, empty)
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', onData).on('end', onEnd).on('error', onError)

  function stop(): void {
    stream.off('data', onData).off('end', onEnd).off('error', onError)
  }
  function onData(chunk: Buffer): void {
    size += chunk.length
    chunks.push(chunk)
    if (size <= maxBytes) return
    stop()
    done(tooLarge(maxBytes), empty)
  }
  function onEnd(): void {
    stop()
    done(undefined, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
  }
  function onError(error: Error): void {
    // The listener reports a late or malformed body as a GatewayError. Any other error means that the client is gone.
    if (!(error instanceof GatewayError)) return
    stop()
    done(error, empty)
  }
}
