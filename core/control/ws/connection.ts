// One client of the WebSocket: a stranger until its first message proves otherwise, and never more of a burden than its
// bounds allow.
import type { WebSocket } from 'ws'
import type { CheckCredential } from '../../http/auth.ts'
import type { Client } from '../../http/client.ts'
import type { Upgrade } from '../../http/listener.ts'
import { logFailure } from '../../http/replies.ts'
import type { Log } from '../../plugin.ts'
import { Type } from '../../typebox.ts'
import { createRpc, type Method, method } from './rpc.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'
import { notification, type Topics } from './topics.ts'

/** A client, as far as methods know it. */
export interface Caller {
  subscriptions: Subscriptions
  notify(method: string, params: object): void
}

export interface SocketLimits {
  /** How long a client may take to authenticate, in milliseconds. */
  authMs: number
  /** Bytes that a client may send before it has authenticated. */
  strangerBytes: number
  /** Clients that have not authenticated; beyond that the oldest of them goes. */
  strangers: number
  messageBytes: number
  /** Bytes that may wait for a client to read them. */
  waitingBytes: number
  /** Calls of one client under way at once. */
  calls: number
  /** How often a client is asked whether it is still there, in milliseconds. */
  pingMs: number
  /** How long a client may take to say goodbye, in milliseconds. */
  closeMs: number
}

export const socketLimits: SocketLimits = {
  authMs: 5_000,
  strangerBytes: 16_384,
  strangers: 64,
  messageBytes: 2 * 1_048_576,
  waitingBytes: 16 * 1_048_576,
  calls: 64,
  pingMs: 30_000,
  closeMs: 2_000,
}

/** Why a connection ends, as the protocol numbers it. */
export const closing = { goingAway: 1001, textOnly: 1003, policy: 1008, tooSlow: 1013 } as const

export interface Connection {
  isStranger(): boolean
  /** Asks whether the client is still there; one that has been silent since it was asked last is gone. */
  ping(): void
  /** Says why, and ends. */
  drop(code: number, reason: string): void
  /** Ends at once. */
  cut(reason: string): void
  /** Resolves when no call is under way. */
  settled(): Promise<void>
  /** Resolves when the connection is no more. */
  ended: Promise<void>
}

interface ConnectionDeps {
  /** The request id of the handshake. */
  id: string
  socket: WebSocket
  /** What it was made of. */
  upgrade: Pick<Upgrade, 'socket' | 'head'>
  client: Client
  find(method: string): Method<Caller> | undefined
  topics: Topics
  check: CheckCredential
  limits: SocketLimits
  log: Log
}

export function createConnection({
  id,
  socket,
  upgrade,
  client,
  find,
  topics,
  check,
  limits,
  log,
}: ConnectionDeps): Connection {
  const { socket: tcp, head } = upgrade
  const ended = Promise.withResolvers<void>()
  const underWay = new Set<Promise<void>>()
  let authenticated = false
  let greeted = false
  let bytesAtPing = -1

  const send = (frame: Buffer | string): void => {
    if (socket.readyState !== socket.OPEN) return
    if (socket.bufferedAmount > limits.waitingBytes) return drop(closing.tooSlow, 'The client reads too slowly.')
    socket.send(frame, { binary: false })
  }

  const drop = (code: number, reason: string): void => {
    if (socket.readyState !== socket.OPEN) return
    // Closed before it is logged: this client may be listening to the log.
    socket.close(code, reason)
    log.info({ reqId: id, client: client.address, code, reason }, 'WebSocket closed')
  }

  const cut = (reason: string): void => {
    socket.terminate()
    log.info({ reqId: id, client: client.address, reason }, 'WebSocket cut')
  }

  const authenticate = method(Type.Object({ token: Type.Optional(Type.String()) }), ({ token }) => {
    check({ client }, token)
    authenticated = true
    clearTimeout(late)
    tcp.off('data', boundStranger)
    return { ok: true }
  })
  /** Whatever else a stranger asks for counts as an attempt without a credential. */
  const refuse = method(Type.Unknown(), () => check({ client }, undefined))

  const subscriptions = createSubscriptions(topics, send)
  const rpc = createRpc<Caller>({
    find: (name) => (name === 'auth' ? authenticate : authenticated ? find(name) : refuse),
    caller: { subscriptions, notify: (method, params) => send(notification(method, params)) },
    maxCalls: limits.calls,
    onFailure: (error, method) =>
      logFailure(log, error, {
        reqId: id,
        client: client.address,
        path: '/ws',
        ...(method !== undefined && { method }),
      }),
  })

  const answer = async (message: Buffer): Promise<void> => {
    const answered = await rpc(message)
    if (answered !== undefined) send(JSON.stringify(answered))
    if (!authenticated) drop(closing.policy, 'The first message must authenticate.')
  }

  const onMessage = (message: Buffer, isBinary: boolean): void => {
    // What a client sends after we have said goodbye, or a stranger beside its one message, is not looked at.
    if (socket.readyState !== socket.OPEN || (greeted && !authenticated)) return
    if (isBinary) return drop(closing.textOnly, 'Send text.')
    greeted = true
    const answering = answer(message).finally(() => underWay.delete(answering))
    underWay.add(answering)
  }

  /** A message is in memory before it can be judged, so that strangers may not send large ones. */
  const boundStranger = (): void => {
    if (!authenticated && tcp.bytesRead - bytesAtStart > limits.strangerBytes)
      cut('Too much was sent before authenticating.')
  }

  const bytesAtStart = tcp.bytesRead - head.length
  tcp.on('data', boundStranger)
  const late = setTimeout(() => drop(closing.policy, 'Nobody authenticated in time.'), limits.authMs)
  socket.on('message', onMessage)
  // What breaks the protocol has been answered with its code; the close follows.
  socket.on('error', (error) => log.info({ reqId: id, client: client.address, error: error.name }, 'WebSocket failed'))
  socket.once('close', () => {
    clearTimeout(late)
    subscriptions.remove(undefined)
    ended.resolve()
  })

  return {
    isStranger: () => !authenticated && socket.readyState === socket.OPEN,
    ping: () => {
      if (socket.readyState !== socket.OPEN) return
      if (tcp.bytesRead === bytesAtPing) return cut('The client is not there any more.')
      bytesAtPing = tcp.bytesRead
      socket.ping()
    },
    drop,
    cut,
    settled: async () => void (await Promise.allSettled(underWay)),
    ended: ended.promise,
  }
}
