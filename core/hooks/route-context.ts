// What all hook routes share: the check of the hook token, the record of rejected requests, and the reply.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { trimSlashes } from '../config/hooks-path.ts'
import { createHookGuard, headerReader, type HookGuard, hookToken, refuseTokenInQuery } from '../http/auth.ts'
import type { GatewayError } from '../errors.ts'
import { toGatewayError } from '../http/replies.ts'
import type { Throttle } from '../http/throttle.ts'
import type { Runs } from '../runs/runs.ts'
import type { NewRefusal } from '../store/store.ts'
import { readTraceContext } from '../telemetry/trace-context.ts'
import type { Tracer } from '../telemetry/tracer.ts'
import type { Dispatched } from './dispatch.ts'
import { type AuthContext, refusalOf, strangerOf } from './incoming-request.ts'
import { waitForRuns } from './prefer-wait.ts'
import type { RequestLog } from './request-log.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; undefined until the sender is authenticated. */
    authContext: AuthContext | undefined
    /** Why the sender was not authenticated, for the record: the reply does not help an attacker. */
    authProblem: string | undefined
  }
}

/** A request and the reply to it. */
export interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
}

export interface RouteContext {
  guard: HookGuard
  /** Throws `unauthorized` or `rate_limited` unless the request shows the hook token. */
  checkToken(request: FastifyRequest, context: AuthContext): void
  /** Marks the request as authenticated. */
  setAuthContext(request: FastifyRequest, context: AuthContext): void
  /** Records a request that starts nothing. */
  record(hook: string, refusal: Omit<NewRefusal, 'id' | 'hook'>): void
  /** The body of the reply to an accepted request. */
  reply(exchange: Exchange, dispatched: Dispatched<object>): object | Promise<object>
}

interface RouteContextDeps {
  token: string
  throttle: Throttle
  requestLog: RequestLog
  runs: Runs
  createId: () => string
  /** Absent: traces are off. */
  tracer: Tracer | undefined
}

/** Adds its hooks to `scope`, which must hold the hook routes and nothing else. */
export function createRouteContext(scope: FastifyInstance, deps: RouteContextDeps): RouteContext {
  const { requestLog, runs, createId, tracer } = deps
  const guard = createHookGuard(deps)
  const record: RouteContext['record'] = (hook, refusal) => requestLog.record({ id: createId(), hook, ...refusal })
  const setAuthContext: RouteContext['setAuthContext'] = (request, context) => {
    request.authContext = context
    if (tracer) request.trace = tracer.begin(readTraceContext(request.headers))
  }

  scope.decorateRequest('authContext')
  scope.decorateRequest('authProblem')
  scope.addHook('onRequest', (request, _reply, done) => {
    refuseTokenInQuery(request)
    done()
  })
  if (tracer) scope.addHook('onResponse', async (request, reply) => exportRequest(tracer, { request, reply }))
  scope.addHook('onError', async (request, _reply, thrown) => {
    const { authContext, routeOptions, params } = request
    const error = toGatewayError(thrown)
    if (authContext) return record(authContext.hook.slice(0, maxNameLength), refusalOf(request, error, authContext))
    if (isOwnFault(error)) return
    const { url: route = '' } = routeOptions
    const { '*': path = route.slice(scope.prefix.length) } = (params ?? {}) as { '*'?: string }
    const hook = trimSlashes(path).slice(0, maxNameLength)
    requestLog.recordStranger(route, { id: createId(), hook, ...strangerOf(request, error) })
  })

  return {
    guard,
    setAuthContext,
    record,
    checkToken(request, context) {
      const hasToken = guard.hasToken(request)
      if (!hasToken) request.authProblem = describeToken(hookToken(headerReader(request)))
      guard.judge(request, hasToken)
      setAuthContext(request, context)
    },
    reply({ request, reply }, { reply: body, replayed }) {
      if (replayed) void reply.header('idempotent-replayed', 'true')
      const prefer = request.headers.prefer as string | undefined
      const waiting = prefer === undefined ? undefined : waitForRuns(runs, body, prefer)
      if (!waiting) return body
      void reply.header('preference-applied', `wait=${waiting.seconds}`)
      return waiting.body
    },
  }
}

const describeToken = (token: string | undefined): string =>
  token === undefined ? 'the request has no token' : 'the token is not the hook token'

/** The gateway starts, stops, or cannot store anything. */
const isOwnFault = ({ code }: GatewayError): boolean => code === 'shutting_down' || code.startsWith('store_')

/** Only authenticated requests have a span: a stranger must not be able to fill the store of traces. */
function exportRequest(tracer: Tracer, { request, reply }: Exchange): void {
  const { trace, authContext, method, headers, routeOptions } = request
  if (!trace) return
  const endedAt = Date.now()
  const { statusCode, elapsedTime } = reply
  const route = routeOptions.url ?? ''
  tracer.export({
    name: `${method} ${route}`,
    kind: 'server',
    context: trace,
    parent: readTraceContext(headers),
    startedAt: endedAt - elapsedTime,
    endedAt,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': statusCode,
      'svc_gateway.hook': authContext?.hook.slice(0, maxNameLength),
    },
    ...(statusCode >= 500 && { error: { type: String(statusCode) } }),
  })
}

/** A rejected request may name a hook that does not exist, at any length. */
const maxNameLength = 256
