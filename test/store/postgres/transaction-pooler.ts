// A pooler of database connections in transaction mode: its clients share a few connections to the server, each of which
// serves one transaction after another, in turn. It logs in with the credentials of the URL, and its clients need none.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Client } from 'pg'

interface Upstream {
  socket: Socket
  /** The client whose transaction is under way. */
  client: Socket | undefined
}

/** `connections`: to the server. */
export async function startTransactionPooler(
  databaseUrl: string,
  connections = 1,
): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const waiting: { socket: Socket; message: Buffer }[] = []
  /** The one that has been free for the longest time is first. */
  let upstreams: Upstream[] = []

  const next = (): void => {
    const [first] = waiting
    const free = upstreams.find(({ client }) => client === undefined)
    if (!first || !free) return
    upstreams = [...upstreams.filter((one) => one !== free), free]
    free.client = first.socket
    for (const { message } of waiting.filter(({ socket }) => socket === free.client)) free.socket.write(message)
    waiting.splice(0, waiting.length, ...waiting.filter(({ socket }) => socket !== free.client))
    next()
  }

  const openUpstream = async (): Promise<Upstream> => {
    const login = new Client({ connectionString: databaseUrl })
    await login.connect()
    login.on('error', () => undefined)
    const { stream } = (login as unknown as { connection: { stream: Socket } }).connection
    stream.removeAllListeners('data')
    const upstream: Upstream = { socket: stream, client: undefined }
    stream.on('data', (chunk: Buffer) => {
      upstream.client?.write(chunk)
      if (!chunk.subarray(-6).equals(idle)) return
      upstream.client = undefined
      next()
    })
    return upstream
  }
  while (upstreams.length < connections) upstreams.push(await openUpstream())

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.write(loggedIn)
      socket.on('data', (message: Buffer) => {
        if (message[0] === terminate) return
        const own = upstreams.find(({ client }) => client === socket)
        if (own) own.socket.write(message)
        else waiting.push({ socket, message })
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
      for (const { socket } of upstreams) socket.destroy()
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
