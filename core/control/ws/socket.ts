// The WebSocket at /ws, on the same port: JSON-RPC 2.0 for pages and programs that want to see the gateway live.
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket, WebSocketServer } from 'ws'
import { GatewayError } from '../../errors.ts'
import { type CheckCredential, refuseTokenInQuery } from '../../http/auth.ts'
import { failures, withoutBody } from '../../http/failure.ts'
import type { Upgrade } from '../../http/listener.ts'
import { refuseStrangeOrigins } from '../../http/cors-origin.ts'
import { setRouteGroup } from '../../http/route-list.ts'
import type { Log } from '../../plugin.ts'
import {
  type Caller,
  closing,
  type Connection,
  createConnection,
  type SocketLimits,
  socketLimits,
} from './connection.ts'
import type { Method } from './rpc.ts'
import type { Topics } from './topics.ts'

/** The path where a request may become a WebSocket. */
export const socketPath = '/ws'

export interface SocketDeps {
  check: CheckCredential
  allowedOrigins: readonly string[]
  methods: ReadonlyMap<string, Method<Caller>>
  topics: Topics
  limits?: Partial<SocketLimits>
  log: Log
}

export interface Sockets {
  /** Lets calls end for `ms`, then says goodbye to everybody. */
  close(ms: number): Promise<void>
}

const schema = {
  summary: 'Becomes a WebSocket that speaks JSON-RPC 2.0.',
  response: { 101: withoutBody('From here on it is a WebSocket.'), ...failures(403, 426) },
}

export function registerSocket(
  app: FastifyInstance,
  { check, allowedOrigins, methods, topics, log, ...deps }: SocketDeps,
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
    routeGroup.addHook('onRequest', refuseStrangeOrigins(allowedOrigins))
    routeGroup.get(socketPath, { schema }, async (request, reply) => {
      const { upgrade } = request
      if (!upgrade) throw new GatewayError('upgrade_required')
      const socket = shakeHands(await openServer(), request, upgrade)
      reply.hijack()
      upgrade.take()
      if (socket) welcome(request, socket, upgrade)
    })
  })

  function welcome({ id, client }: FastifyRequest, socket: WebSocket, upgrade: Upgrade): void {
    makeRoom()
    const connection = createConnection({
      id,
      socket,
      upgrade,
      client,
      find: (name) => methods.get(name),
      topics,
      check,
      limits,
      log,
    })
    connections.add(connection)
    pings ??= setInterval(() => {
      for (const one of connections) one.ping()
    }, limits.pingMs).unref()
    void connection.ended.then(() => connections.delete(connection))
  }

  /** A flood of strangers pushes out the oldest of them, never a client that has authenticated. */
  function makeRoom(): void {
    const strangers = [...connections].filter((connection) => connection.isStranger())
    if (strangers.length >= limits.strangers) strangers[0]?.cut('Too many clients have not authenticated.')
  }

  return {
    close: async (ms) => {
      clearInterval(pings)
      const settled = Promise.all([...connections].map((connection) => connection.settled()))
      await Promise.race([settled, delay(ms, undefined, { ref: false })])
      const all = [...connections]
      for (const connection of all) connection.drop(closing.goingAway, 'The gateway stops.')
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}

/** Loaded by the first client, so that starting never waits for it. */
function createServerOnce({ messageBytes, closeMs }: SocketLimits): () => Promise<WebSocketServer> {
  let opening: Promise<WebSocketServer> | undefined
  const open = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import('ws')
    // No compression: a few bytes could become megabytes, and most messages are small.
    const options = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: messageBytes,
      closeTimeout: closeMs,
    }
    const server = new WebSocketServer(options)
    server.on('wsClientError', ({ message }) => {
      throw new GatewayError('malformed_http', `The handshake of the WebSocket is not valid: ${message}.`)
    })
    return server
  }
  return () => (opening ??= open())
}

/**
 * Undefined when the client has gone meanwhile. Throws `malformed_http` while the request can still be answered as
 * HTTP.
 */
function shakeHands(
  server: WebSocketServer,
  { raw }: FastifyRequest,
  { socket, head }: Upgrade,
): WebSocket | undefined {
  let shaken: WebSocket | undefined
  server.handleUpgrade(raw, socket, head, (made) => {
    shaken = made
  })
  return shaken
}
