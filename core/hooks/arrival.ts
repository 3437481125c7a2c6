// What the door keeps of a request: who sent it, its harmless headers, its body, its idempotency key.
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import type { NewRefusal } from '../store/store.ts'
import type { Arrival } from './dispatch.ts'
import { isSecretHeader } from './secret-headers.ts'

const longestKey = 256

export function arrivalOf(request: FastifyRequest, hook: string): Arrival {
  return {
    hook,
    client: request.client.address,
    headers: harmless(request.headers),
    rawBody: request.rawBody.toString('utf8'),
    idempotency: idempotencyOf(request),
  }
}

/** What is kept of a request that was refused: as much of it as was read. */
export function refusalOf(request: FastifyRequest, error: GatewayError): Omit<NewRefusal, 'id' | 'hook'> {
  return {
    client: request.client.address,
    headers: harmless(request.headers),
    body: (request.rawBody as Buffer | null)?.toString('utf8') ?? null,
    status: error.status < 500 ? 'rejected' : 'failed',
    error: { type: error.code, message: error.publicMessage },
  }
}

function idempotencyOf({ headers, rawBody }: FastifyRequest): Arrival['idempotency'] {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !key.trim()) throw new GatewayError('invalid_request', 'Idempotency-Key is blank; send a key, or leave the header out.')
  if (key.length > longestKey) throw new GatewayError('invalid_request', `Idempotency-Key is longer than ${longestKey} characters; send a shorter one.`)
  return { key, bodyHash: hash('sha256', rawBody, 'base64') }
}

/** Credentials and signatures are never kept. */
function harmless(headers: FastifyRequest['headers']): string {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) kept[name] = isSecretHeader(name) ? '[redacted]' : String(value)
  }
  return JSON.stringify(kept)
}
