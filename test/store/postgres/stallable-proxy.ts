// A TCP proxy in front of a database that can stop forwarding, as a server does that hangs.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface StallableProxy {
  /** The URL of the database through the proxy. */
  url: string
  /** From now on, connections are accepted and nothing is forwarded. */
  stall(): void
  /** Forwards everything that has waited. */
  resume(): void
  close(): void
}

export async function startStallableProxy(databaseUrl: string): Promise<StallableProxy> {
  const database = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isStalled = false
  const server = createServer((client) => {
    const upstream = connect(Number(database.port), database.hostname)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('data', (chunk) => void other.write(chunk))
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
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
