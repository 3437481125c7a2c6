// A TCP proxy in front of a database that can do what a server does that hangs or is killed.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  url: string
  /** From now on, connections are accepted and nothing is forwarded. */
  stall(): void
  /** Forwards everything that has waited. */
  resume(): void
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
  let isStalled = false
  let endsConnections = false
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
        if (ends) other.end(Buffer.concat([chunk, terminated]))
        else other.write(chunk)
      })
      one.on('error', () => undefined)
      one.once('close', () => {
        sockets.delete(one)
        other.destroy()
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
    stall: () => {
      isStalled = true
      for (const socket of sockets) socket.pause()
    },
    resume: () => {
      isStalled = false
      for (const socket of sockets) socket.resume()
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
