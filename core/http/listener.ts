// The socket side of HTTP: owns the port, sets Node's limits, answers malformed and late requests, and closes
// connections without losing the last reply.
import type { IncomingMessage, RequestListener, Server, ServerResponse as Response } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { type ErrorCode, GatewayError } from '../errors.ts'
import { linger } from './linger.ts'
import { createServer, ServerResponse } from './node-http.ts'

/** The limits of one connection. */
export interface ConnectionLimits {
  /** The time from the first byte (or from connecting) to the end of the headers. */
  headersMs: number
  /** The time from the first byte to the end of the body. */
  requestMs: number
  /**
   * How long an idle connection stays open: longer than in proxies and load balancers (up to 600 s), so that they close
   * first. Otherwise the gateway may close while a proxy sends a POST, which it may not send again.
   */
  keepAliveMs: number
  /** How often Node checks for overdue requests. */
  checkEveryMs: number
}

export const connectionLimits: ConnectionLimits = {
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 620_000,
  checkEveryMs: 1_000,
}

const maxHeaderBytes = 16_384

export interface Listener {
  /** Creates the Node server. This is Fastify's `serverFactory`. */
  open: (handler: RequestListener) => Server
  /** Opens the port; resolves with its address, such as `http://127.0.0.1:18789`. */
  listen(at: { host: string; port: number }): Promise<string>
  /** Closes the port. Resolves when the last connection has closed. */
  close(): Promise<void>
  /** Closes every connection, also those with a request under way. */
  closeAllConnections(): void
  /** Sends all further requests to this handler. */
  switchHandler(handler: RequestListener): void
  /** Answers malformed and overdue requests. This is Fastify's `clientErrorHandler`. */
  onClientError: (error: NodeJS.ErrnoException, socket: Socket) => void
  /**
   * Call it before you reply to a request whose body was not fully read. The connection closes after the reply, and the
   * client can read that reply.
   */
  closeAfterReply: (request: IncomingMessage) => void
  /** Returns the connection of a WebSocket upgrade request, or undefined for any other request. */
  upgradeOf: (request: IncomingMessage) => Upgrade | undefined
}

/** The connection of an upgrade request. Until `detach` is called, you can reply as to any other request. */
export interface Upgrade {
  socket: Socket
  /** The bytes that were read after the request. */
  head: Buffer
  /** Detaches the connection from HTTP. The caller must then close it. */
  detach(): void
}

interface ListenerDeps {
  limits: ConnectionLimits
  /** Logs an error below Fastify and returns the whole response as text. */
  renderError: (code: ErrorCode, socket: Socket) => string
  /** The path that accepts WebSocket upgrades. Absent: no path does. */
  socketPath?: string | undefined
}

export function createListener({ limits, renderError, socketPath }: ListenerDeps): Listener {
  const latest = new WeakMap<Socket, Response>()
  const closing = new WeakSet<Socket>()
  const connections = new Set<Socket>()
  const upgrades = new WeakMap<IncomingMessage, Upgrade>()
  let current: RequestListener | undefined
  let owner: Server | undefined

  function open(handler: RequestListener): Server {
    // Only the first server listens. The servers of later runtimes never do.
    if (current) return createServer()
    current = handler
    const handle: RequestListener = (request, response) => current?.(request, response)
    const server = (owner = createServer(
      { ...nodeOptions(limits), shouldUpgradeCallback: mayUpgrade },
      (request, response) => {
        // A request that was pipelined behind one that closes the connection is not executed.
        if (closing.has(request.socket)) return
        latest.set(request.socket, response)
        handle(request, response)
      },
    ))
    // A client that ends its side after its request still reads the reply.
    Object.assign(server, { httpAllowHalfOpen: true })
    // Ignores an unknown `Expect` header, for which Node would reply with a bare 417.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
    server.on('connect', (_request, socket) => {
      // Node has detached this socket: without an error listener, a reset would crash the process.
      socket.on('error', () => socket.destroy())
      refuse(socket as Socket, 'malformed_http')
    })
    server.on('connection', (socket: Socket) => {
      connections.add(socket)
      socket.once('close', () => connections.delete(socket))
    })
    server.on('upgrade', (request, socket, head) => handle(request, openUpgrade(request, socket as Socket, head)))
    return server
  }

  /**
   * Accepts WebSocket upgrades at `socketPath`; any other upgrade request is handled as plain HTTP. So is a request
   * that was pipelined behind one whose reply is not finished, because that reply needs the connection.
   */
  function mayUpgrade({ method, url, headers, socket }: IncomingMessage): boolean {
    if (socketPath === undefined || method !== 'GET' || url?.split('?', 1)[0] !== socketPath) return false
    return (
      headers.upgrade?.toLowerCase() === 'websocket' &&
      latest.get(socket)?.writableFinished !== false &&
      !closing.has(socket)
    )
  }

  /** Node has detached the socket. This creates a response for it, so that Fastify can handle the request as usual. */
  function openUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Response {
    const destroy = (): unknown => socket.destroy()
    socket.on('error', destroy)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => linger(socket))
    latest.set(socket, response)
    const detach = (): void => {
      response.detachSocket(socket)
      socket.off('error', destroy)
    }
    upgrades.set(request, { socket, head, detach })
    return response
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (closing.has(socket)) return
    const code = codeOf(error)
    const response = latest.get(socket)
    // The client reset the connection or never sent a byte, so it expects no reply.
    if (error.code === 'ECONNRESET' || socket.bytesRead === 0) socket.destroy()
    else if (response === undefined) refuse(socket, code)
    else if (!response.req.complete) failBody(socket, response, code)
    else if (response.writableFinished) refuse(socket, code)
    // Malformed bytes after a valid request must not be answered before that request.
    else response.once('close', () => refuse(socket, code))
  }

  /** Handles an overdue or malformed body of the latest request. */
  function failBody(socket: Socket, { req, headersSent }: Response, code: ErrorCode): void {
    // The request was answered before its body was read, so there must be no second reply.
    if (headersSent) socket.destroy()
    else if (req.listenerCount('error') > 0) req.emit('error', new GatewayError(code))
    else refuse(socket, code)
  }

  function refuse(socket: Socket, code: ErrorCode): void {
    if (closing.has(socket)) return
    closing.add(socket)
    if (socket.writable) socket.write(renderError(code, socket))
    linger(socket)
  }

  function closeAfterReply({ socket }: IncomingMessage): void {
    closing.add(socket)
    // Node would destroy the socket after the reply. With unread bytes that sends a reset, which may discard the reply.
    socket.destroySoon = () => linger(socket)
  }

  function switchHandler(handler: RequestListener): void {
    current = handler
  }

  async function listen(at: { host: string; port: number }): Promise<string> {
    if (!owner) throw new Error('No server was opened.')
    owner.listen(at)
    await once(owner, 'listening')
    return urlOf(owner.address() as AddressInfo)
  }

  /** Browsers open connections in advance. Until something is sent on them, Node does not regard them as idle. */
  function closeSilentConnections(): void {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  }

  async function close(): Promise<void> {
    if (!owner?.listening) return
    const server = owner
    // A connection that becomes idle after `server.close` would otherwise delay it until its keep-alive time ends.
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      // What has arrived until now is read first.
      setImmediate(closeSilentConnections)
    }, sweepIntervalMs)
    await new Promise((resolve) => server.close(resolve))
    clearInterval(sweep)
  }

  return {
    open,
    listen,
    close,
    closeAllConnections: () => owner?.closeAllConnections(),
    switchHandler,
    onClientError,
    closeAfterReply,
    upgradeOf: (request) => upgrades.get(request),
  }
}

const sweepIntervalMs = 20

/** Returns the URL to connect to. For an unspecified address (0.0.0.0 or ::) it is the loopback address. */
function urlOf({ address, family, port }: AddressInfo): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
}

function nodeOptions(limits: ConnectionLimits) {
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    // The server checks it and replies with the error envelope.
    requireHostHeader: false,
    noDelay: true,
  }
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'payload_too_large'
  return 'malformed_http'
}
