// A TCP proxy in front of a database, on loopback, with the faults of networks and of servers.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  url: string
  /** From now on, connections are accepted and nothing is forwarded. */
  stall(): void
  /** Stalls when this many more bytes have come from the database. */
  stallAfter(bytes: number): void
  /** Forwards everything that has waited. */
  resume(): void
  /** From now on, everything arrives later by this time. */
  delay(ms: number): void
  /** Resets all connections. New ones are forwarded. */
  reset(): void
  /** From now on, the open connections are silent, and neither end learns of it. New ones are forwarded. */
  abandon(): void
  /** Ends all connections, and from now on each new one with an error in the packet that completes its login. */
  endConnections(): void
  close(): void
}

const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1')
const fields = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'
const terminated = Buffer.from(`E\0\0\0${String.fromCharCode(fields.length + 4)}${fields}`, 'latin1')

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const database = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const silent = new Set<Socket>()
  let isStalled = false
  let endsConnections = false
  let bytesLeft = Infinity
  let delayMs = 0

  const stall = (): void => {
    isStalled = true
    for (const socket of sockets) socket.pause()
  }

  const server = createServer((client) => {
    const isDoomed = endsConnections
    const upstream = connect(Number(database.port), database.hostname)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('data', (chunk: Buffer) => {
        const ends = isDoomed && one === upstream && chunk.includes(readyForQuery)
        if (ends) {
          other.end(Buffer.concat([chunk, terminated]))
          return
        }
        // Timers of equal length keep their order.
        if (delayMs > 0) setTimeout(() => other.write(chunk), delayMs)
        else if (!other.write(chunk) && !isStalled) {
          one.pause()
          other.once('drain', () => !isStalled && !silent.has(one) && one.resume())
        }
        if (one === upstream && (bytesLeft -= chunk.length) <= 0) stall()
      })
      one.on('error', () => undefined)
      one.once('close', () => {
        sockets.delete(one)
        if (!silent.has(one)) other.destroy()
      })
      if (isStalled) one.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    stall,
    stallAfter: (bytes) => (bytesLeft = bytes),
    resume: () => {
      isStalled = false
      bytesLeft = Infinity
      for (const socket of sockets) if (!silent.has(socket)) socket.resume()
    },
    delay: (ms) => (delayMs = ms),
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    abandon: () => {
      for (const socket of sockets) silent.add(socket.pause())
    },
    endConnections: () => {
      endsConnections = true
      for (const socket of sockets) socket.destroy()
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
