// Handles one WebSocket client: authenticates it by its first message, passes its calls on, and enforces the limits.
import type { WebSocket } from 'ws'
import type { CheckCredential } from '../../http/auth.ts'
import type { Client } from '../../http/client.ts'
import type { Upgrade } from '../../http/listener.ts'
import { logFailure } from '../../http/replies.ts'
import type { Log } from '../../plugin/plugin.ts'
import { Type } from '../../typebox.ts'
import { createRpc, type Method, method } from './rpc.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'
import { notification, type Topics } from './topics.ts'

/** The client, as methods see it. */
export interface Caller {
  subscriptions: Subscriptions
  notify(method: string, params: object): void
}

export interface SocketLimits {
  /** How long a client may take to authenticate. */
  authTimeoutMs: number
  /** How many bytes a client may send before it has authenticated. */
  maxUnauthenticatedBytes: number
  /** How many clients may be connected without having authenticated. Beyond that the oldest one is cut off. */
  maxUnauthenticatedClients: number
  maxMessageBytes: number
  /** How many bytes may be buffered for a client that reads slowly. */
  maxBufferedBytes: number
  /** How many calls of one client may run at once. */
  maxCalls: number
  /** How often a client is pinged. */
  pingIntervalMs: number
  /** How long a client may take to answer a close frame. */
  closeTimeoutMs: number
}

export const socketLimits: SocketLimits = {
  authTimeoutMs: 5_000,
  maxUnauthenticatedBytes: 16_384,
  maxUnauthenticatedClients: 64,
  maxMessageBytes: 2 * 1_048_576,
  maxBufferedBytes: 16 * 1_048_576,
  maxCalls: 64,
  pingIntervalMs: 30_000,
  closeTimeoutMs: 2_000,
}

/** The close codes of the WebSocket protocol that the gateway sends. */
export const closeCodes = { goingAway: 1001, textOnly: 1003, policy: 1008, tooSlow: 1013 } as const

export interface Connection {
  isUnauthenticated(): boolean
  /** Pings the client. Terminates the connection when nothing was received since the last ping. */
  ping(): void
  /** Closes the connection with a code and a reason. */
  close(code: number, reason: string): void
  /** Terminates the connection without a close frame. */
  terminate(reason: string): void
  /** Resolves when no call is under way. */
  settled(): Promise<void>
  /** Resolves when the connection is closed. */
  closed: Promise<void>
}

interface ConnectionDeps {
  /** The request id of the handshake. */
  id: string
  socket: WebSocket
  /** The connection that the WebSocket was created from. */
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
  const closed = Promise.withResolvers<void>()
  const activeCalls = new Set<Promise<void>>()
  let isAuthenticated = false
  let hasReceived = false
  let bytesAtPing = -1

  const send = (frame: Buffer | string): void => {
    if (socket.readyState !== socket.OPEN) return
    if (socket.bufferedAmount > limits.maxBufferedBytes)
      return close(closeCodes.tooSlow, 'The client reads too slowly.')
    socket.send(frame, { binary: false })
  }

  const close = (code: number, reason: string): void => {
    if (socket.readyState !== socket.OPEN) return
    // Closes before it logs, because this client may be subscribed to the log.
    socket.close(code, reason)
    log.info({ reqId: id, client: client.address, code, reason }, 'WebSocket closed')
  }

  const terminate = (reason: string): void => {
    socket.terminate()
    log.info({ reqId: id, client: client.address, reason }, 'WebSocket terminated')
  }

  const authenticate = method(Type.Object({ token: Type.Optional(Type.String()) }), ({ token }) => {
    check({ client }, token)
    isAuthenticated = true
    clearTimeout(authTimer)
    tcp.off('data', enforceByteLimit)
    return { ok: true }
  })
  /** Any other method before authentication counts as a failed attempt. */
  const refuse = method(Type.Unknown(), () => check({ client }, undefined))

  const subscriptions = createSubscriptions(topics, send)
  const rpc = createRpc<Caller>({
    find: (name) => (name === 'auth' ? authenticate : isAuthenticated ? find(name) : refuse),
    caller: { subscriptions, notify: (method, params) => send(notification(method, params)) },
    maxCalls: limits.maxCalls,
    onFailure: (error, method) =>
      logFailure(log, error, {
        reqId: id,
        client: client.address,
        path: '/ws',
        ...(method !== undefined && { method }),
      }),
  })

  const handle = async (message: Buffer): Promise<void> => {
    const response = await rpc(message)
    if (response !== undefined) send(JSON.stringify(response))
    if (!isAuthenticated) close(closeCodes.policy, 'The first message must authenticate.')
  }

  const onMessage = (message: Buffer, isBinary: boolean): void => {
    // Ignores messages after the close, and all but the first one before authentication.
    if (socket.readyState !== socket.OPEN || (hasReceived && !isAuthenticated)) return
    if (isBinary) return close(closeCodes.textOnly, 'Send text frames.')
    hasReceived = true
    const call = handle(message).finally(() => activeCalls.delete(call))
    activeCalls.add(call)
  }

  /** A message is buffered before it can be checked, so clients that have not authenticated may send only a little. */
  const enforceByteLimit = (): void => {
    if (!isAuthenticated && tcp.bytesRead - bytesAtStart > limits.maxUnauthenticatedBytes)
      terminate('Too much was sent before authenticating.')
  }

  const bytesAtStart = tcp.bytesRead - head.length
  tcp.on('data', enforceByteLimit)
  const authTimer = setTimeout(
    () => close(closeCodes.policy, 'The client did not authenticate in time.'),
    limits.authTimeoutMs,
  )
  socket.on('message', onMessage)
  // `ws` has already answered a protocol error with its close code. The close event follows.
  socket.on('error', (error) => log.info({ reqId: id, client: client.address, error: error.name }, 'WebSocket failed'))
  socket.once('close', () => {
    clearTimeout(authTimer)
    subscriptions.remove(undefined)
    closed.resolve()
  })

  return {
    isUnauthenticated: () => !isAuthenticated && socket.readyState === socket.OPEN,
    ping: () => {
      if (socket.readyState !== socket.OPEN) return
      if (tcp.bytesRead === bytesAtPing) return terminate('The client no longer responds.')
      bytesAtPing = tcp.bytesRead
      socket.ping()
    },
    close,
    terminate,
    settled: async () => void (await Promise.allSettled(activeCalls)),
    closed: closed.promise,
  }
}
