// Closes a connection so that the client can still read the last reply.
import type { Socket } from 'node:net'

/** How much, and for how long, a client may continue to write after the reply was sent. */
const maxDiscardedBytes = 64 * 1_048_576
const timeoutMs = 5_000

/**
 * Ends the writing side and discards what still comes in. The connection closes when the client closes it or when a
 * limit is reached.
 */
export function linger(socket: Socket): void {
  let remainingBytes = maxDiscardedBytes
  // Detaches the HTTP parser, which would otherwise continue to read.
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    remainingBytes -= chunk.length
    if (remainingBytes < 0) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  socket.once('close', () => clearTimeout(timer))
  socket.resume()
  socket.end()
}
