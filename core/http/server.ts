// Builds the HTTP server that the doors are hung into: what every request and every response has in common.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifySchemaCompiler, type FastifyServerOptions, fastify } from 'fastify'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { type Check, compileCheck, firstProblem } from '../typebox.ts'
import { type Client, type ClientOf, createClientOf } from './client.ts'
import { type ConnectionLimits, connectionLimits, createListener, type Listener, maxHeaders } from './listener.ts'
import { noRoute } from './methods.ts'
import { envelope, headersOf, logFailure, rawResponse, securityHeaders, toGatewayError } from './replies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; worked out when first asked for. */
    readonly client: Client
    /** The body as it came, where a door reads one. */
    rawBody: Buffer
  }
  interface FastifyContextConfig {
    /** Answers while the gateway starts and stops, too. */
    always?: boolean
  }
}

export interface ServerOptions {
  log: Log
  /** Addresses or CIDRs of the proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[]
  /** While false, every route but those marked `always` answers 503. */
  isReady(): boolean
  limits?: Partial<ConnectionLimits>
}

export function createServer({ log, trustedProxies, isReady, limits }: ServerOptions): FastifyInstance {
  const clientOf = createClientOf(trustedProxies)
  const nextId = createRequestIds()
  const listener = createListener({
    limits: { ...connectionLimits, ...limits },
    refusal: (code, socket) => {
      const error = new GatewayError(code)
      const requestId = nextId()
      logFailure(log, error, { requestId, client: socket.remoteAddress })
      return rawResponse(error, requestId)
    },
  })
  const fail = createFailureReply({ log, listener, clientOf })
  const options: FastifyServerOptions = {
    genReqId: nextId,
    serverFactory: listener.open,
    clientErrorHandler: listener.onClientError,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_error, request, reply) => void fail(new GatewayError('invalid_request', 'The path is not valid.'), request, begin(request, reply)),
    schemaController: { compilersFactory: { buildValidator: (() => validatorCompiler) as never, buildSerializer: () => () => JSON.stringify } },
  }
  const app: FastifyInstance = fastify(options)
  app.decorateRequest('client', { getter(this: FastifyRequest) { return clientOf(this.raw) } })
  app.decorateRequest('rawBody', null as never)
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    refuseMalformed(request.raw)
    if (request.is404) return void done(refuseNoRoute(app, request, reply))
    if (!isReady() && request.routeOptions.config.always !== true) throw new GatewayError('shutting_down')
    done()
  })
  app.setErrorHandler((error, request, reply) => fail(toGatewayError(error), request, reply))
  // From now on Fastify reads no body: the doors do (body.ts). Not before, or it would refuse routes with a body schema.
  app.addHook('onReady', (done) => {
    app.addHttpMethod('POST', { overrideExisting: true })
    done()
  })
  return app
}

/** Unique over restarts; an id that comes with the request is not trusted. */
function createRequestIds(): () => string {
  const prefix = randomBytes(6).toString('hex')
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

function begin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.header('x-request-id', request.id).headers(securityHeaders)
}

/** What Node's parser lets through and we do not. */
function refuseMalformed({ rawHeaders, url, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw new GatewayError('headers_too_large')
  if (url?.charCodeAt(0) !== 47) throw new GatewayError('malformed_http', 'The request target must be a path that begins with a slash.')
  if (httpVersion === '1.1') {
    if (headers.host === undefined) throw new GatewayError('malformed_http', 'The Host header is missing.')
  } else if (httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined) {
    // Older proxies don't know chunked bodies: where this request ends would be anybody's guess.
    throw new GatewayError('malformed_http', 'Send the request as HTTP/1.1.')
  }
}

function refuseNoRoute(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): GatewayError {
  const { error, allow } = noRoute(app, pathOf(request.raw))
  if (allow !== undefined) void reply.header('allow', allow)
  return error
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] as string

/** Answers with the envelope, leaves one log line, and ends the connection where the rest of the request can't be trusted or awaited. */
function createFailureReply({ log, listener, clientOf }: { log: Log; listener: Listener; clientOf: ClientOf }) {
  return (error: GatewayError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { raw } = request
    const bodyBytes = request.rawBody?.length || Number(raw.headers['content-length'] ?? 0)
    logFailure(log, error, { requestId: request.id, method: raw.method ?? '', path: pathOf(raw), bodyBytes, client: clientOf(raw).address })
    if (endsConnection(error, raw)) {
      listener.closeAfterAnswer(raw)
      void reply.header('connection', 'close')
    }
    return reply.code(error.status).headers(headersOf(error)).send(envelope(error))
  }
}

/** A body of this size that nobody reads is thrown away and the connection kept; a larger one, or one of unknown size, is not awaited. */
const awaitedBytes = 65_536

function endsConnection({ code }: GatewayError, { complete, headers }: IncomingMessage): boolean {
  if (code === 'malformed_http' || code === 'headers_too_large' || code === 'request_timeout') return true
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > awaitedBytes)
}

const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  // Compiled when first needed: that takes milliseconds, and the start has none to spare.
  let check: Check | undefined
  return (value: unknown) => {
    check ??= compileCheck(schema)
    if (check.fits(value)) return true
    return { error: new GatewayError('invalid_request', `${firstProblem(check.problems(value), `the ${httpPart ?? 'body'}`)}.`) }
  }
}
