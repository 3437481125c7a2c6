// What all hook routes share: the check of the hook token, the record of rejected requests, and the reply.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createHookGuard, type HookGuard, refuseTokenInQuery } from '../http/auth.ts'
import { toGatewayError } from '../http/replies.ts'
import type { Throttle } from '../http/throttle.ts'
import type { Runs } from '../runs/runs.ts'
import type { NewRefusal } from '../store/store.ts'
import type { Dispatched } from './dispatch.ts'
import { type AuthContext, refusalOf } from './incoming-request.ts'
import { waitForRuns } from './prefer-wait.ts'
import type { RequestLog } from './request-log.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; undefined until the sender is authenticated. */
    authContext: AuthContext | undefined
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
}

/** Adds its hooks to `scope`, which must hold the hook routes and nothing else. */
export function createRouteContext(scope: FastifyInstance, deps: RouteContextDeps): RouteContext {
  const { requestLog, runs, createId } = deps
  const guard = createHookGuard(deps)
  const record: RouteContext['record'] = (hook, refusal) => requestLog.record({ id: createId(), hook, ...refusal })
  const setAuthContext: RouteContext['setAuthContext'] = (request, context) => void (request.authContext = context)

  scope.decorateRequest('authContext')
  scope.addHook('onRequest', (request, _reply, done) => {
    refuseTokenInQuery(request)
    done()
  })
  // Only authenticated requests are recorded: a stranger must not be able to fill the disk.
  scope.addHook('onError', async (request, _reply, error) => {
    const { authContext } = request
    if (!authContext) return
    record(authContext.hook.slice(0, maxNameLength), refusalOf(request, toGatewayError(error), authContext))
  })

  return {
    guard,
    setAuthContext,
    record,
    checkToken(request, context) {
      guard.judge(request, guard.hasToken(request))
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

/** A rejected request may name a hook that does not exist, at any length. */
const maxNameLength = 256
