// Builds the HTTP server that the route groups are hung into: what every request and every response has in common.
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
import type { Log } from '../plugin.ts'
import { type Client, createClientOf } from './client.ts'
import { createErrorHandler, createRefusal, type Fail, pathOf } from './error-handler.ts'
import { type ConnectionLimits, connectionLimits, createListener, type Listener, type Upgrade } from './listener.ts'
import { securityHeaders, toGatewayError } from './replies.ts'
import { compileValidator } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; worked out when asked for. */
    readonly client: Client
    /** The body as it came, where the route group reads one. */
    rawBody: Buffer
    /** The same as text, once it is known to be one. */
    text: string
    /** The connection, where the request may make a WebSocket of it. */
    readonly upgrade: Upgrade | undefined
  }
  interface FastifyContextConfig {
    /** This route answers while the gateway starts and stops, too. */
    always?: boolean
  }
}

export interface ServerOptions {
  log: Log
  /** Addresses or CIDRs of the proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[]
  /** While false, every route but those marked `always` answers 503. */
  isReady: () => boolean
  /** What owns the port; several servers may take turns behind one. Absent: one of its own. */
  listener?: Listener
}

interface ListenerOptions {
  log: Log
  limits?: Partial<ConnectionLimits>
  /** The path where a request may become a WebSocket. */
  socketPath?: string
}

export function createHttpListener({ log, limits, socketPath }: ListenerOptions): Listener {
  return createListener({
    limits: { ...connectionLimits, ...limits },
    refusal: createRefusal(log, createRequestIds()),
    socketPath,
  })
}

export function createServer({
  log,
  trustedProxies,
  isReady,
  listener = createHttpListener({ log }),
}: ServerOptions): FastifyInstance {
  const clientOf = createClientOf(trustedProxies)
  const nextId = createRequestIds()
  const fail = createErrorHandler({ log, listener, clientOf })
  const app: FastifyInstance = fastify(fastifyOptions({ listener, nextId, fail }))
  app.decorateRequest('client', { getter: clientOfRequest })
  app.decorateRequest('rawBody', null as never)
  app.decorateRequest('text', '')
  app.decorateRequest('routeGroup', 'none')
  app.decorateRequest('upgrade', { getter: upgradeOfRequest })
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    refuseMalformed(request.raw)
    if (request.is404) refuseNoRoute(app, request, reply)
    if (!isReady() && request.routeOptions.config.always !== true) throw new GatewayError('shutting_down')
    done()
  })
  app.setErrorHandler((error, request, reply) => fail(toGatewayError(error), request, reply))
  // It must reach through the walls of the route groups.
  void app.register(fastifyPlugin(leaveBodiesToRoutes, { name: 'bodies' }))
  return app

  function clientOfRequest(this: FastifyRequest): Client {
    return clientOf(this.raw)
  }

  function upgradeOfRequest(this: FastifyRequest): Upgrade | undefined {
    return listener.upgradeOf(this.raw)
  }
}

function fastifyOptions({
  listener,
  nextId,
  fail,
}: {
  listener: Listener
  nextId: () => string
  fail: Fail
}): FastifyServerOptions {
  return {
    genReqId: nextId,
    serverFactory: listener.open,
    clientErrorHandler: listener.onClientError,
    return503OnClosing: false,
    // Names of hooks may be long; what is too long is refused with the headers.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_error, request, reply) => {
      fail(new GatewayError('invalid_request', 'The path is not valid.'), request, begin(request, reply))
    },
    // Fastify's own compilers cost the start more than all the rest.
    schemaController: {
      compilersFactory: {
        buildValidator: (() => compileValidator) as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
  }
}

/** Unique over restarts; an id that comes with a request is not trusted. */
function createRequestIds(): () => string {
  const prefix = randomBytes(6).toString('hex')
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

function begin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.header('x-request-id', request.id).headers(securityHeaders)
}

const maxHeaders = 100

/** What Node's parser lets through and we do not. */
function refuseMalformed({ rawHeaders, url, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw new GatewayError('headers_too_large')
  if (url?.charCodeAt(0) !== 47)
    throw new GatewayError('malformed_http', 'The request target must be a path that begins with a slash.')
  if (httpVersion === '1.1') {
    if (headers.host === undefined) throw new GatewayError('malformed_http', 'The Host header is missing.')
  } else if (httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined) {
    // Older versions know no chunks: where this request ends would be anybody's guess.
    throw new GatewayError('malformed_http', 'Send the request as HTTP/1.1.')
  }
}

const routedMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * Throws 405 when the path has a route for another method, else 404. It asks the router, so that a route need not list
 * the methods that it refuses. It runs before authentication: a wrong method is no failed attempt.
 */
function refuseNoRoute(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): never {
  const url = pathOf(request.raw)
  const allowed = routedMethods.filter((method) => app.findRoute({ method, url }) !== null)
  if (allowed.length === 0) throw new GatewayError('not_found')
  const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ')
  reply.header('allow', allow)
  throw new GatewayError('method_not_allowed', `This path takes ${allow}.`)
}

/**
 * From the start on Fastify takes POST for a method without a body, and the route groups read it themselves (body.ts):
 * Fastify would refuse unknown content types and reset a client whose body is too large.
 * Not before the start, or it would refuse routes that have a body schema.
 */
async function leaveBodiesToRoutes(app: FastifyInstance): Promise<void> {
  app.addHook('onReady', (done) => {
    app.addHttpMethod('POST', { overrideExisting: true })
    done()
  })
}
