// Registers the WebSocket at /ws, which speaks JSON-RPC 2.0 on the HTTP port.
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket, WebSocketServer } from 'ws'
import { GatewayError } from '../../errors.ts'
import { type CheckCredential, refuseTokenInQuery } from '../../http/auth.ts'
import { failures, withoutBody } from '../../http/failure.ts'
import type { Upgrade } from '../../http/listener.ts'
import { refuseForeignOrigins } from '../../http/cors-origin.ts'
import { setRouteGroup } from '../../http/route-list.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { AuditLog } from '../../store/audit-log.ts'
import {
  type Caller,
  closeCodes,
  type Connection,
  createConnection,
  type SocketLimits,
  socketLimits,
} from './connection.ts'
import type { Method } from './rpc.ts'
import type { Topics } from './topics.ts'

/** The path that accepts WebSocket upgrades. */
export const socketPath = '/ws'

export interface SocketDeps {
  check: CheckCredential
  audit: Pick<AuditLog, 'failed'>
  allowedOrigins: readonly string[]
  methods: ReadonlyMap<string, Method<Caller>>
  topics: Topics
  limits?: Partial<SocketLimits>
  log: Log
}

export interface Sockets {
  /** Waits up to `graceMs` for calls to end, then closes all connections. The reason is for their clients. */
  close(graceMs: number, reason: string): Promise<void>
}

const schema = {
  summary: 'Opens a WebSocket that speaks JSON-RPC 2.0.',
  response: { 101: withoutBody('The connection is now a WebSocket.'), ...failures(403, 426) },
}

export function registerSocket(
  app: FastifyInstance,
  { check, audit, allowedOrigins, methods, topics, log, ...deps }: SocketDeps,
): Sockets {
  const limits = { ...socketLimits, ...deps.limits }
  const connections = new Set<Connection>()
  const openServer = createServerOnce(limits)
  let pings: NodeJS.Timeout | undefined

  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'socket')
    routeGroup.addHook('onRequest', (request, _reply, done) => {
      refuseTokenInQuery(request)
      done()
    })
    routeGroup.addHook('onRequest', refuseForeignOrigins(allowedOrigins))
    routeGroup.get(socketPath, { schema }, async (request, reply) => {
      const { upgrade } = request
      if (!upgrade) throw new GatewayError('upgrade_required')
      const socket = completeHandshake(await openServer(), request, upgrade)
      reply.hijack()
      upgrade.detach()
      if (socket) addConnection(request, socket, upgrade)
    })
  })

  function addConnection({ id, client }: FastifyRequest, socket: WebSocket, upgrade: Upgrade): void {
    evictUnauthenticated()
    const connection = createConnection({
      id,
      socket,
      upgrade,
      client,
      find: (name) => methods.get(name),
      topics,
      check,
      audit,
      limits,
      log,
    })
    connections.add(connection)
    pings ??= setInterval(() => {
      for (const one of connections) one.ping()
    }, limits.pingIntervalMs).unref()
    void connection.closed.then(() => connections.delete(connection))
  }

  /** At the limit, terminates the oldest client that has not authenticated. Authenticated clients are not affected. */
  function evictUnauthenticated(): void {
    const candidates = [...connections].filter((connection) => connection.isUnauthenticated())
    if (candidates.length >= limits.maxUnauthenticatedClients)
      candidates[0]?.terminate('Too many clients have not authenticated.')
  }

  return {
    close: async (graceMs, reason) => {
      clearInterval(pings)
      const settled = Promise.all([...connections].map((connection) => connection.settled()))
      await Promise.race([settled, delay(graceMs, undefined, { ref: false })])
      const all = [...connections]
      for (const connection of all) connection.close(closeCodes.goingAway, reason)
      await Promise.all(all.map(({ closed }) => closed))
    },
  }
}

/** Imports `ws` when the first client connects, because the import would delay the start. */
function createServerOnce({ maxMessageBytes, closeTimeoutMs }: SocketLimits): () => Promise<WebSocketServer> {
  let opening: Promise<WebSocketServer> | undefined
  const open = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import('ws')
    // No compression: a few bytes could expand to megabytes, and most messages are small.
    const options = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      closeTimeout: closeTimeoutMs,
    }
    const server = new WebSocketServer(options)
    server.on('wsClientError', ({ message }) => {
      throw new GatewayError('malformed_http', `The handshake of the WebSocket is not valid: ${message}.`)
    })
    return server
  }
  return () => (opening ??= open())
}

/** Returns undefined when the client has disconnected. Throws `malformed_http` for an invalid handshake. */
function completeHandshake(
  server: WebSocketServer,
  { raw }: FastifyRequest,
  { socket, head }: Upgrade,
): WebSocket | undefined {
  let webSocket: WebSocket | undefined
  server.handleUpgrade(raw, socket, head, (created) => {
    webSocket = created
  })
  return webSocket
}
