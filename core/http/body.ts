// How a door reads a body: raw bytes up to a limit, then one value out of them.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { preValidationHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { type Accept, parsePayload } from './payload.ts'

export interface BodyOptions {
  /** Exactly so many bytes pass. */
  maxBytes: number
  accept: Accept
}

/**
 * Reads the body of a POST before its schema is checked: `request.rawBody` holds the bytes, `request.body` the value.
 * A client that goes away before the end leaves nothing behind: its request never reaches the handler.
 */
export function readBody({ maxBytes, accept }: BodyOptions): preValidationHookHandler {
  return (request, _reply, done) => {
    if (request.method !== 'POST') return done()
    const { raw } = request
    const refusal = refusalBeforeReading(raw.headers, maxBytes)
    if (refusal) return done(refusal)
    if (hasNoBody(raw.headers)) {
      request.rawBody = empty
      request.body = {}
      return done()
    }
    collect(raw, maxBytes, (error, bytes) => {
      if (error) return done(error)
      try {
        request.rawBody = bytes
        request.body = parsePayload(bytes, accept, raw.headers['content-type'])
      } catch (problem) {
        return done(problem as Error)
      }
      done()
    })
  }
}

const tooLarge = (maxBytes: number) => new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes.`)

function refusalBeforeReading(headers: IncomingHttpHeaders, maxBytes: number): GatewayError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') return new GatewayError('unsupported_encoding')
  const announced = headers['content-length']
  return announced !== undefined && Number(announced) > maxBytes ? tooLarge(maxBytes) : undefined
}

const hasNoBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'

type Collected = (error: Error | undefined, bytes: Buffer) => void

const empty = Buffer.alloc(0)

/** Calls back once: with all bytes, with the refusal, or, when the client went away, never. */
function collect(stream: IncomingMessage, maxBytes: number, done: Collected): void {
  const chunks: Buffer[] = []
  let size = 0
  const stop = (): void => void stream.off('data', onData).off('end', onEnd).off('error', onError)
  function onData(chunk: Buffer): void {
    size += chunk.length
    if (size <= maxBytes) return void chunks.push(chunk)
    stop()
    done(tooLarge(maxBytes), empty)
  }
  function onEnd(): void {
    stop()
    done(undefined, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
  }
  function onError(error: Error): void {
    // The listener reports a late or malformed body as an error of the table; anything else is the connection's end.
    if (!(error instanceof GatewayError)) return
    stop()
    done(error, empty)
  }
  stream.on('data', onData).on('end', onEnd).on('error', onError)
}
