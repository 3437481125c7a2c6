// POST {hooks.path}/wake and {hooks.path}/agent, and what mappings make of other names.
import type { FastifyInstance, FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import type { Runs } from '../runs/runs.ts'
import type { Config } from '../config/schema.ts'
import { createHookAuth, createHookGuard } from '../http/auth.ts'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { toGatewayError } from '../http/replies.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { Throttle } from '../http/throttle.ts'
import type { Log } from '../plugin.ts'
import {
  type AgentBody,
  AgentHeaders,
  AgentReply,
  type createAgentBody,
  IdempotencyHeader,
  trimNames,
  WakeBody,
  WakeReply,
} from './schemas.ts'
import { type AuthContext, readIncomingRequest, refusalOf } from './incoming-request.ts'
import { type Dispatch, type Dispatched, direct } from './dispatch.ts'
import type { RequestLog } from './request-log.ts'
import { type MappedRoutesDeps, registerMapped } from './mapped-routes.ts'
import type { Mappings } from './mappings.ts'
import { stateAfter, waitSeconds } from './prefer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What is known of a sender who may ask; until then its refusals leave no trace. */
    authContext: AuthContext | undefined
  }
}

export interface HookRoutesDeps {
  hooks: Config['hooks'] & { token: string }
  /** Lockouts outlive a configuration. */
  throttle: Throttle
  publicUrl: string | undefined
  /** What the endpoint for agents takes; it depends on the loaded channels. */
  agentBody: ReturnType<typeof createAgentBody>
  mappings: Mappings
  dispatch: Dispatch
  requestLog: RequestLog
  runs: Runs
  createId: () => string
  log: Log
}

export function registerHooks(app: FastifyInstance, { hooks, throttle, agentBody, ...deps }: HookRoutesDeps): void {
  const { dispatch, requestLog, runs, createId } = deps
  const { keepBody } = hooks
  const wake = {
    summary: 'Tells the default agent a line of news.',
    body: WakeBody,
    readsHeaders: IdempotencyHeader,
    response: { 200: WakeReply, ...failures(422) },
  }
  const agent = {
    summary: 'Gives an agent work.',
    body: agentBody,
    readsHeaders: AgentHeaders,
    response: { 200: AgentReply, ...failures(422) },
  }

  void app.register(
    async (scope) => {
      setRouteGroup(scope, 'hooks')
      const guard = createHookGuard({ token: hooks.token, throttle })
      const setAuthContext = noteRefusals(scope)
      scope.register(async (mapped) =>
        registerMapped(mapped, { ...deps, guard, setAuthContext, maxBytes: hooks.maxBodyBytes }),
      )
      scope.register(async (strict) => {
        strict.addHook('onRequest', createHookAuth(guard))
        strict.addHook('onRequest', (request, _reply, done) => {
          setAuthContext(request, { hook: nameOf(request), keepBody })
          done()
        })
        strict.addHook('preValidation', readBody({ maxBytes: hooks.maxBodyBytes, accept: 'object' }))
        strict.post<{ Body: WakeBody }>('/wake', { schema: wake }, async (request, reply) => {
          return answer(
            reply,
            await dispatch.accept(
              readIncomingRequest(request, { hook: 'wake', keepBody }),
              dispatch.planWake(request.body, direct('wake', keepBody)),
            ),
          )
        })
        strict.post<{ Body: AgentBody }>(
          '/agent',
          { schema: agent, preValidation: withTrimmedNames },
          async (request, reply) => {
            const incoming = readIncomingRequest(request, { hook: 'agent', keepBody })
            const accepted = answer(
              reply,
              await dispatch.accept(incoming, dispatch.planAgent(request.body, direct('agent', keepBody))),
            )
            return request.headers.prefer === undefined ? accepted : await waitFor(runs, accepted, { request, reply })
          },
        )
      })
    },
    { prefix: hooks.path },
  )

  /** Only of those who may ask: a stranger must not be able to fill the disk. */
  function noteRefusals(scope: FastifyInstance): MappedRoutesDeps['setAuthContext'] {
    scope.decorateRequest('authContext')
    scope.addHook('onError', async (request, _reply, error) => {
      const { authContext } = request
      if (authContext)
        requestLog.record({
          id: createId(),
          hook: authContext.hook.slice(0, longestName),
          ...refusalOf(request, toGatewayError(error), authContext),
        })
    })
    return (request, known) => void (request.authContext = known)
  }
}

/** The last segment of the route, whatever the spelling of the address was. */
const nameOf = ({ routeOptions: { url = '' } }: FastifyRequest): string => url.slice(url.lastIndexOf('/') + 1)

/** Characters that are kept of the name of a hook that there is not. */
const longestName = 256

const withTrimmedNames: preValidationHookHandler = ({ body }, _reply, done) => {
  trimNames(body as object)
  done()
}

function answer<Reply>(reply: FastifyReply, { reply: body, replayed }: Dispatched<Reply>): Reply {
  if (replayed) void reply.header('idempotent-replayed', 'true')
  return body
}

/** Holds the reply until the run ends or the caller's patience does: `Prefer: wait=N`. */
async function waitFor(
  runs: Runs,
  accepted: AgentReply,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<AgentReply> {
  const seconds = waitSeconds(request.headers.prefer as string | undefined)
  if (seconds === undefined) return accepted
  void reply.header('preference-applied', `wait=${seconds}`)
  return { ...accepted, ...(await stateAfter(runs, accepted.runId, seconds)) }
}
