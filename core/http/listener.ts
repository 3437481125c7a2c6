// The socket side of HTTP: Node's limits, what a malformed or late request reads, and how a connection ends without
// losing its last answer.
import type { IncomingMessage, RequestListener, Server, ServerResponse as Response } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { type ErrorCode, GatewayError } from '../errors.ts'
import { linger } from './linger.ts'
import { createServer, ServerResponse } from './node-http.ts'

/** What one connection may take; times in milliseconds. */
export interface ConnectionLimits {
  /** From the first byte (or from connecting) to the end of the headers. */
  headersMs: number
  /** From the first byte to the end of the body. */
  requestMs: number
  /**
   * An idle connection is kept longer than the usual proxy keeps it (60 s), so that the proxy is the one that closes.
   */
  keepAliveMs: number
  /** How often overdue requests are looked for. */
  checkEveryMs: number
}

export const connectionLimits: ConnectionLimits = {
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 72_000,
  checkEveryMs: 1_000,
}

const maxHeaderBytes = 16_384

export interface Listener {
  /** Makes the Node server; Fastify's `serverFactory`. */
  open: (handler: RequestListener) => Server
  /** Opens the port; resolves with its address, such as `http://127.0.0.1:18789`. */
  listen(at: { host: string; port: number }): Promise<string>
  /** Closes the port; resolves when the last connection has ended. */
  close(): Promise<void>
  /** Ends every connection, whatever is under way. */
  cut(): void
  /** Requests go to this handler from now on. */
  switchTo(handler: RequestListener): void
  /** Answers what never became a request, or stopped being one; Fastify's `clientErrorHandler`. */
  onClientError: (error: NodeJS.ErrnoException, socket: Socket) => void
  /**
   * Call it before answering a request whose body is not wholly read: the connection ends after the answer, and the
   * client can read it.
   */
  closeAfterAnswer: (request: IncomingMessage) => void
  /** The connection of a request that asks to leave HTTP for a WebSocket, at the one path where that is possible. */
  upgradeOf: (request: IncomingMessage) => Upgrade | undefined
}

/**
 * A connection that may leave HTTP. Until it is taken, the request can be answered like any other, and the connection
 * then ends.
 */
export interface Upgrade {
  socket: Socket
  /** What has been read behind the request. */
  head: Buffer
  /** HTTP lets go of the connection: whoever takes it has to end it. */
  take(): void
}

interface ListenerDeps {
  limits: ConnectionLimits
  /** Answers below Fastify: the whole response as text, already logged. */
  refusal: (code: ErrorCode, socket: Socket) => string
  /** The path where a request may become a WebSocket; absent: there is none. */
  socketPath?: string | undefined
}

export function createListener({ limits, refusal, socketPath }: ListenerDeps): Listener {
  const latest = new WeakMap<Socket, Response>()
  const closing = new WeakSet<Socket>()
  const upgrades = new WeakMap<IncomingMessage, Upgrade>()
  let current: RequestListener | undefined
  let owner: Server | undefined

  function open(handler: RequestListener): Server {
    // Only the first server has the port. Those that follow it are never asked to listen.
    if (current) return createServer()
    current = handler
    const handle: RequestListener = (request, response) => current?.(request, response)
    const server = (owner = createServer(
      { ...nodeOptions(limits), shouldUpgradeCallback: mayUpgrade },
      (request, response) => {
        // What was pipelined behind a request that ended the connection is not executed.
        if (closing.has(request.socket)) return
        latest.set(request.socket, response)
        handle(request, response)
      },
    ))
    // An expectation that we do not know is ignored; Node would answer a bare 417.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
    server.on('connect', (_request, socket) => {
      // Node has let go of this socket: without a listener a reset would end the process.
      socket.on('error', () => socket.destroy())
      refuse(socket as Socket, 'malformed_http')
    })
    server.on('upgrade', (request, socket, head) => handle(request, openUpgrade(request, socket as Socket, head)))
    return server
  }

  /**
   * Everything else that asks for another protocol stays HTTP. So does a request behind one whose answer is not out:
   * that one needs the connection.
   */
  function mayUpgrade({ method, url, headers, socket }: IncomingMessage): boolean {
    if (socketPath === undefined || method !== 'GET' || url?.split('?', 1)[0] !== socketPath) return false
    return (
      headers.upgrade?.toLowerCase() === 'websocket' &&
      latest.get(socket)?.writableFinished !== false &&
      !closing.has(socket)
    )
  }

  /** Node has let go of the socket: this gives it a response, so that the request can go the way of all others. */
  function openUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Response {
    const destroy = (): unknown => socket.destroy()
    socket.on('error', destroy)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => linger(socket))
    latest.set(socket, response)
    const take = (): void => {
      response.detachSocket(socket)
      socket.off('error', destroy)
    }
    upgrades.set(request, { socket, head, take })
    return response
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (closing.has(socket)) return
    const code = codeOf(error)
    const response = latest.get(socket)
    // Reset by the client, or connected and never said a word: nobody waits for an answer.
    if (error.code === 'ECONNRESET' || socket.bytesRead === 0) socket.destroy()
    else if (response === undefined) refuse(socket, code)
    else if (!response.req.complete) failBody(socket, response, code)
    else if (response.writableFinished) refuse(socket, code)
    // Malformed bytes behind a good request wait for that one's answer; they must not be answered in its place.
    else response.once('close', () => refuse(socket, code))
  }

  /** The body of the latest request stays away or turns out malformed. */
  function failBody(socket: Socket, { req, headersSent }: Response, code: ErrorCode): void {
    // It was answered without waiting for its body: there is no second answer.
    if (headersSent) socket.destroy()
    else if (req.listenerCount('error') > 0) req.emit('error', new GatewayError(code))
    else refuse(socket, code)
  }

  function refuse(socket: Socket, code: ErrorCode): void {
    if (closing.has(socket)) return
    closing.add(socket)
    if (socket.writable) socket.write(refusal(code, socket))
    linger(socket)
  }

  function closeAfterAnswer({ socket }: IncomingMessage): void {
    closing.add(socket)
    // Node would destroy the socket once the answer is written: with unread bytes that is a reset, which may swallow
    // the answer.
    socket.destroySoon = () => linger(socket)
  }

  function switchTo(handler: RequestListener): void {
    current = handler
  }

  async function listen(at: { host: string; port: number }): Promise<string> {
    if (!owner) throw new Error('There is no server yet.')
    owner.listen(at)
    await once(owner, 'listening')
    return urlOf(owner.address() as AddressInfo)
  }

  async function close(): Promise<void> {
    if (!owner?.listening) return
    const server = owner
    // A connection that is kept alive after its last answer would hold the end up.
    const sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs)
    await new Promise((resolve) => server.close(resolve))
    clearInterval(sweep)
  }

  return {
    open,
    listen,
    close,
    cut: () => owner?.closeAllConnections(),
    switchTo,
    onClientError,
    closeAfterAnswer,
    upgradeOf: (request) => upgrades.get(request),
  }
}

const sweepEveryMs = 20

/** An address that stands for all of the machine's is none to connect to: the loopback one is reached by it. */
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
    // Checked by the server, which answers with the envelope.
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
