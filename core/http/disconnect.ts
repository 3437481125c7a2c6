// Tells when the client of a request has left.
import type { FastifyReply } from 'fastify'

/**
 * A signal that aborts when the connection closes before the whole reply is sent, or when the client ends its side: most
 * clients that do have left.
 */
export function disconnectSignal({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  const onLeft = (): void => {
    if (!raw.writableFinished) disconnected.abort()
  }
  const { socket } = raw.req
  socket.once('end', onLeft)
  raw.once('close', () => {
    socket.off('end', onLeft)
    onLeft()
  })
  return disconnected.signal
}
