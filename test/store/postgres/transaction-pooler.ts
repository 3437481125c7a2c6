// A pooler of database connections in transaction mode: its clients share one connection to the server, which serves
// one transaction after another. It logs in with the credentials of the URL, and its clients need none.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Client } from 'pg'

export async function startTransactionPooler(databaseUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const login = new Client({ connectionString: databaseUrl })
  await login.connect()
  login.on('error', () => undefined)
  const upstream = (login as unknown as { connection: { stream: Socket } }).connection.stream
  upstream.removeAllListeners('data')
  const sockets = new Set<Socket>()
  /** The client whose transaction is under way, and those that wait. */
  const waiting: { socket: Socket; message: Buffer }[] = []
  let current: Socket | undefined

  const next = (): void => {
    const [first] = waiting
    if (current || !first) return
    current = first.socket
    for (const { message } of waiting.filter(({ socket }) => socket === current)) upstream.write(message)
    waiting.splice(0, waiting.length, ...waiting.filter(({ socket }) => socket !== current))
  }
  upstream.on('data', (chunk: Buffer) => {
    current?.write(chunk)
    if (!chunk.subarray(-6).equals(idle)) return
    current = undefined
    next()
  })

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.write(loggedIn)
      socket.on('data', (message: Buffer) => {
        if (message[0] === terminate) return
        waiting.push({ socket, message })
        if (current === socket) upstream.write((waiting.pop() as { message: Buffer }).message)
        next()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    close: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      upstream.destroy()
    },
  }
}

const terminate = 'X'.charCodeAt(0)
/** ReadyForQuery outside of a transaction. */
const idle = Buffer.from('Z\0\0\0\x05I', 'latin1')
/** AuthenticationOk, BackendKeyData and ReadyForQuery. */
const loggedIn = Buffer.concat([
  Buffer.from('R\0\0\0\x08\0\0\0\0', 'latin1'),
  Buffer.from('K\0\0\0\x0c\0\0\0\x01\0\0\0\x01', 'latin1'),
  idle,
])
