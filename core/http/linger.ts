// Ends a connection so that the client can still read the last reply.
import type { Socket } from 'node:net'

/** How much and how long a client may go on writing after its reply was sent. */
const lingerBytes = 64 * 1_048_576
const lingerMs = 5_000

/**
 * Says that no more will be written, throws away what still comes in, and ends for good when the client does or a bound
 * is reached.
 */
export function linger(socket: Socket): void {
  let left = lingerBytes
  // Without this the HTTP parser would go on reading.
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  const bound = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(bound))
  socket.resume()
  socket.end()
}
