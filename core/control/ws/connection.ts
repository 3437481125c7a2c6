// Handles one WebSocket client: authenticates it by its first message, passes its calls on, and enforces the limits.
import type { WebSocket } from 'ws'
import { authorize, type Principal } from '../../http/access.ts'
import { type CheckCredential, expiredText } from '../../http/auth.ts'
import type { Client } from '../../http/client.ts'
import type { Upgrade } from '../../http/listener.ts'
import { logFailure } from '../../http/replies.ts'
import type { Log } from '../../plugin/plugin.ts'
import { Type } from '../../typebox.ts'
import type { AuditLog } from '../../store/audit-log.ts'
import { clientSource } from '../../store/audit-log.ts'
import type { AuditSource } from '../../store/store.ts'
import type { ChatCaller } from './chat.ts'
import { createRpc, type Method, method } from './rpc.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'
import { notification, type Topics } from './topics.ts'

/** The client, as methods see it. */
export interface Caller extends ChatCaller {
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

/** The longest time of a timer. */
const maxTimerMs = 2 ** 31 - 1

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
  audit: Pick<AuditLog, 'failed'>
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
  audit,
  limits,
  log,
}: ConnectionDeps): Connection {
  const { socket: tcp, head } = upgrade
  const closed = Promise.withResolvers<void>()
  const activeCalls = new Set<Promise<void>>()
  /** Who calls. Undefined until the client has authenticated. */
  let authenticated: { principal: Principal; source: AuditSource } | undefined
  let expiryTimer: NodeJS.Timeout | undefined
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
    const principal = check({ client }, token)
    // Another client may see other topics.
    if (authenticated && authenticated.principal !== principal) subscriptions.remove(undefined)
    authenticated = { principal, source: clientSource(principal, { via: 'websocket', address: client.address }) }
    clearTimeout(authTimer)
    tcp.off('data', enforceByteLimit)
    closeAt(principal.expiresAt)
    return { ok: true }
  })
  /** Any other method before authentication counts as a failed attempt. */
  const refuse = method(Type.Unknown(), () => check({ client }, undefined))

  /** Closes when the token expires. */
  const closeAt = (expiresAt: number | undefined): void => {
    clearTimeout(expiryTimer)
    if (expiresAt === undefined) return
    const remainingMs = Math.max(0, expiresAt - Date.now())
    const expire = (): void => (remainingMs > maxTimerMs ? closeAt(expiresAt) : close(closeCodes.policy, expiredText))
    expiryTimer = setTimeout(expire, Math.min(remainingMs, maxTimerMs)).unref()
  }

  const known = () => {
    if (!authenticated) throw new Error('The client has not authenticated.')
    return authenticated
  }
  const subscriptions = createSubscriptions({ topics, receive: send, principal: () => known().principal })
  const rpc = createRpc<Caller>({
    find: (name) => (name === 'auth' ? authenticate : authenticated ? find(name) : refuse),
    caller: {
      subscriptions,
      notify: (method, params) => send(notification(method, params)),
      get principal() {
        return known().principal
      },
      get source() {
        return known().source
      },
    },
    authorize: ({ access }) => {
      if (access) authorize(known().principal, access)
    },
    maxCalls: limits.maxCalls,
    onFailure: (error, method) => {
      if (error.code === 'forbidden' && authenticated && method !== undefined)
        audit.failed(authenticated.source, { action: find(method)?.access?.action ?? method }, error)
      logFailure(log, error, {
        reqId: id,
        client: client.address,
        path: '/ws',
        ...(method !== undefined && { method }),
      })
    },
  })

  const handle = async (message: Buffer): Promise<void> => {
    const response = await rpc(message)
    if (response !== undefined) send(JSON.stringify(response))
    if (!authenticated) close(closeCodes.policy, 'The first message must authenticate.')
  }

  const onMessage = (message: Buffer, isBinary: boolean): void => {
    // Ignores messages after the close, and all but the first one before authentication.
    if (socket.readyState !== socket.OPEN || (hasReceived && !authenticated)) return
    if (isBinary) return close(closeCodes.textOnly, 'Send text frames.')
    hasReceived = true
    const call = handle(message).finally(() => activeCalls.delete(call))
    activeCalls.add(call)
  }

  /** A message is buffered before it can be checked, so clients that have not authenticated may send only a little. */
  const enforceByteLimit = (): void => {
    if (!authenticated && tcp.bytesRead - bytesAtStart > limits.maxUnauthenticatedBytes)
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
    clearTimeout(expiryTimer)
    subscriptions.remove(undefined)
    closed.resolve()
  })

  return {
    isUnauthenticated: () => !authenticated && socket.readyState === socket.OPEN,
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
