// Builds the Fastify server for the route groups, with everything that all requests and responses share.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'
import { decodeHeaders } from './auth.ts'
import { type Client, createClientResolver } from './client.ts'
import { createErrorHandler, createRawErrorReply, pathOf, type SendError } from './error-handler.ts'
import { type ConnectionLimits, connectionLimits, createListener, type Listener, type Upgrade } from './listener.ts'
import { securityHeaders, toGatewayError } from './replies.ts'
import { compileValidator } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the caller. */
    client: Client
    /** The bytes of the body, when the route group reads one. */
    rawBody: Buffer
    /** The body decoded as UTF-8. */
    text: string
    /** The connection, when the request may turn it into a WebSocket. */
    readonly upgrade: Upgrade | undefined
    /** The span of the request, if it has one. */
    trace: TraceContext | undefined
  }
  interface FastifyContextConfig {
    /** True: the route also answers while the gateway starts and stops. */
    alwaysAvailable?: boolean
    /** True: the path may hold a secret, so the log has only its pattern. */
    hasSecretPath?: boolean
  }
}

export interface ServerOptions {
  log: Log
  /** Addresses or CIDRs of the proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: readonly string[]
  /** Why the gateway accepts no work at the moment. Every route except those marked `alwaysAvailable` answers so. */
  findRefusal: () => GatewayError | undefined
  /** Owns the port. Several servers may follow one another behind it. Absent: the server creates its own. */
  listener?: Listener
}

interface ListenerOptions {
  log: Log
  limits?: Partial<ConnectionLimits>
  /** The path that accepts WebSocket upgrades. */
  socketPath?: string
}

export function createHttpListener({ log, limits, socketPath }: ListenerOptions): Listener {
  return createListener({
    limits: { ...connectionLimits, ...limits },
    renderError: createRawErrorReply(log, createRequestIds()),
    socketPath,
  })
}

export function createServer({
  log,
  trustedProxies,
  findRefusal,
  listener = createHttpListener({ log }),
}: ServerOptions): FastifyInstance {
  const resolveClient = createClientResolver(trustedProxies)
  const createRequestId = createRequestIds()
  const sendError = createErrorHandler({ log, listener, resolveClient })
  const app: FastifyInstance = fastify(fastifyOptions({ listener, createRequestId, sendError }))
  app.decorateRequest('client', null as never)
  app.decorateRequest('rawBody', null as never)
  app.decorateRequest('text', '')
  app.decorateRequest('trace')
  app.decorateRequest('principal', null as never)
  app.decorateRequest('upgrade', { getter: getUpgrade })
  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply)
    request.client = resolveClient(request.raw)
    refuseMalformed(request.raw)
    decodeHeaders(request.raw)
    if (request.is404) refuseUnknownRoute(app, request, reply)
    const refusal = request.routeOptions.config.alwaysAvailable === true ? undefined : findRefusal()
    if (refusal) throw refusal
    done()
  })
  app.setErrorHandler((error, request, reply) => sendError(toGatewayError(error), request, reply))
  // fastify-plugin makes it apply to the encapsulated route groups, too.
  void app.register(fastifyPlugin(disableBodyParsing, { name: 'bodies' }))
  return app

  function getUpgrade(this: FastifyRequest): Upgrade | undefined {
    return listener.upgradeOf(this.raw)
  }
}

function fastifyOptions({
  listener,
  createRequestId,
  sendError,
}: {
  listener: Listener
  createRequestId: () => string
  sendError: SendError
}): FastifyServerOptions {
  return {
    genReqId: createRequestId,
    serverFactory: listener.open,
    clientErrorHandler: listener.onClientError,
    return503OnClosing: false,
    // Hook names may be long. The limit on the size of the headers bounds them.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_error, request, reply) => {
      sendError(
        new GatewayError('invalid_request', 'The path is not valid.'),
        request,
        setCommonHeaders(request, reply),
      )
    },
    // Loading Fastify's own compilers would take longer than the rest of the start.
    schemaController: {
      compilersFactory: {
        buildValidator: (() => compileValidator) as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
  }
}

/** The ids are unique across restarts. An id that a request brings is not trusted. */
function createRequestIds(): () => string {
  const prefix = randomBytes(6).toString('hex')
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.header('x-request-id', request.id).headers(securityHeaders)
}

const maxHeaders = 100

/** Refuses malformed requests that Node's parser accepts. */
function refuseMalformed({ rawHeaders, url, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw new GatewayError('headers_too_large')
  if (url?.charCodeAt(0) !== 47)
    throw new GatewayError('malformed_http', 'The request target must be a path that begins with a slash.')
  if (httpVersion === '1.1') {
    if (headers.host === undefined) throw new GatewayError('malformed_http', 'The Host header is missing.')
  } else if (httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined) {
    // HTTP/1.0 has no chunked encoding, so the end of such a request would be ambiguous.
    throw new GatewayError('malformed_http', 'Send the request as HTTP/1.1.')
  }
}

const routedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * Throws 405 when the path has a route for another method, else 404. It asks the router, so that a route need not list
 * the methods that it refuses. It runs before authentication: a wrong method is no failed attempt.
 */
function refuseUnknownRoute(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): never {
  const url = pathOf(request.raw)
  const allowed = routedMethods.filter((method) => app.findRoute({ method, url }) !== null)
  if (allowed.length === 0) throw new GatewayError('not_found')
  const allow = allowed.join(', ')
  reply.header('allow', allow)
  throw new GatewayError('method_not_allowed', `This path takes ${allow}.`)
}

/**
 * Makes Fastify treat POST as a method without a body, because the route groups read bodies themselves (body.ts):
 * Fastify would refuse unknown content types and reset the connection of a client whose body is too large. It happens
 * in `onReady`, because Fastify refuses to register a body schema for such a method. A DELETE has no body; some clients
 * name a content type nevertheless.
 */
async function disableBodyParsing(app: FastifyInstance): Promise<void> {
  app.addHook('onReady', (done) => {
    for (const method of ['POST', 'DELETE']) app.addHttpMethod(method, { overrideExisting: true })
    done()
  })
}
