// Tells when the client of a request has left.
import type { FastifyReply } from 'fastify'

/** A signal that aborts when the connection closes before the whole reply is sent. */
export function disconnectSignal({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) disconnected.abort()
  })
  return disconnected.signal
}
