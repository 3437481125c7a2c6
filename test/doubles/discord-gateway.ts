// The gateway of the Discord double: sessions that can be resumed, and connections that can be cut.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { type WebSocket, WebSocketServer } from 'ws'

interface GatewaySettings {
  server: Server
  token: string
  botId: string
  /** What the channel sends and the double does not know. */
  unexpected: string[]
}

interface Session {
  id: string
  /** Every event since its start. */
  events: { t: string; s: number; d: unknown }[]
  socket: WebSocket | undefined
}

interface Frame {
  op: number
  d: { token: string; intents: number; session_id: string; seq: number }
}

const requiredIntents = (1 << 9) | (1 << 12) | (1 << 15)

export async function startDiscordGateway({ server, token, botId, unexpected }: GatewaySettings) {
  let hold: ((open: (isOpen: boolean) => void) => void) | undefined
  const sockets = new WebSocketServer({
    server,
    path: '/gateway/',
    verifyClient: (_info, open) => {
      if (hold) hold(open)
      else open(true)
      hold = undefined
    },
  })
  const sessions = new Map<string, Session>()
  const changes = new EventTarget()
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/gateway/`
  const gateway = {
    url,
    identified: 0,
    resumed: 0,
    /** Closes the next connections with these codes, once they have identified themselves or resumed. */
    refuse: [] as number[],
    /** Sends an event to every session, or keeps it for a session that may be resumed. */
    dispatch(t: string, d: unknown): void {
      for (const session of sessions.values()) send(session, t, d)
    },
    /** Sends what Discord never should. */
    sendRaw: (text: string): void => sockets.clients.forEach((socket) => socket.send(text)),
    /** Sessions cannot be resumed any more, as after a long time. */
    forgetSessions: (): void => sessions.clear(),
    /** Asks the channel to connect again. */
    askToReconnect: (): void => sockets.clients.forEach((socket) => socket.send(JSON.stringify({ op: 7 }))),
    /** Closes every connection. */
    async disconnect(code: number): Promise<void> {
      await Promise.all(
        [...sockets.clients].map(async (socket) => {
          const closed = once(socket, 'close')
          socket.close(code)
          await closed
        }),
      )
    },
    connections: () => sockets.clients.size,
    /** The next connection stays half open. Resolves with a function that opens or refuses it. */
    holdNext: () => new Promise<(isOpen: boolean) => void>((resolve) => void (hold = resolve)),
    /** Resolves when `identified` or `resumed` has reached this count. */
    async reached(what: 'identified' | 'resumed', count: number): Promise<void> {
      while (gateway[what] < count) await once(changes, 'change')
    },
    async close(): Promise<void> {
      for (const socket of sockets.clients) socket.terminate()
      await new Promise((resolve) => sockets.close(resolve))
    },
  }

  function send(session: Session, t: string, d: unknown): void {
    const event = { t, s: session.events.length + 1, d }
    session.events.push(event)
    session.socket?.send(JSON.stringify({ op: 0, ...event }))
  }

  function attach(session: Session, socket: WebSocket): void {
    session.socket = socket
    socket.once('close', (code) => {
      if (session.socket === socket) session.socket = undefined
      // A client that closes like this does not come back.
      if (code === 1000 || code === 1001) sessions.delete(session.id)
    })
  }

  function identify(socket: WebSocket, frame: Frame): void {
    gateway.identified++
    if (frame.d.token !== token) return socket.close(4004)
    if (frame.d.intents !== requiredIntents) unexpected.push(`the intents ${frame.d.intents}`)
    const refusal = gateway.refuse.shift()
    if (refusal !== undefined) return socket.close(refusal)
    const session: Session = { id: `session-${sessions.size}-${gateway.identified}`, events: [], socket: undefined }
    sessions.set(session.id, session)
    attach(session, socket)
    const user = { id: botId, username: 'bot', bot: true }
    send(session, 'READY', { v: 10, user, guilds: [], session_id: session.id, resume_gateway_url: url })
  }

  function resume(socket: WebSocket, frame: Frame): void {
    gateway.resumed++
    if (frame.d.token !== token) return socket.close(4004)
    const refusal = gateway.refuse.shift()
    if (refusal !== undefined) return socket.close(refusal)
    const session = sessions.get(frame.d.session_id)
    if (!session) return socket.send(JSON.stringify({ op: 9, d: false }))
    attach(session, socket)
    for (const event of session.events.filter(({ s }) => s > frame.d.seq))
      socket.send(JSON.stringify({ op: 0, ...event }))
    send(session, 'RESUMED', {})
  }

  sockets.on('connection', (socket) => {
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }))
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame
      if (frame.op === 1) socket.send(JSON.stringify({ op: 11 }))
      else if (frame.op === 2) identify(socket, frame)
      else if (frame.op === 6) resume(socket, frame)
      else unexpected.push(`gateway opcode ${frame.op}`)
      changes.dispatchEvent(new Event('change'))
    })
  })
  return gateway
}
