// POST {hooks.path}/wake and {hooks.path}/agent; the routes of mappings are registered beside them.
import type { FastifyInstance, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import type { Config } from '../config/schema/schema.ts'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { Throttle } from '../http/throttle.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Runs } from '../runs/runs.ts'
import type { Tracer } from '../telemetry/tracer.ts'
import { type Dispatch, directSource, type Plan } from './dispatch.ts'
import { readIncomingRequest } from './incoming-request.ts'
import { registerMapped } from './mapped-routes.ts'
import type { Mappings } from './mappings.ts'
import type { Pipeline } from './pipeline.ts'
import type { RequestLog } from './request-log.ts'
import { createRouteContext, type Exchange, type RouteContext } from './route-context.ts'
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

export interface HookRoutesDeps {
  hooks: Config['hooks'] & { token: string }
  /** Outlives this configuration, so that a reload lifts no lockout. */
  throttle: Throttle
  publicUrl: string | undefined
  /** Tells the job of a preset that a webhook has come. */
  notifyJob(preset: string): void
  /** The schema of agent bodies; it depends on the loaded channels. */
  agentBody: ReturnType<typeof createAgentBody>
  mappings: Mappings
  dispatch: Dispatch
  pipeline: Pipeline
  requestLog: RequestLog
  runs: Runs
  createId: () => string
  /** Absent: traces are off. */
  tracer: Tracer | undefined
  log: Log
}

export function registerHooks(app: FastifyInstance, deps: HookRoutesDeps): void {
  const { hooks } = deps
  void app.register(
    async (scope) => {
      setRouteGroup(scope, 'hooks')
      const context = createRouteContext(scope, { ...deps, token: hooks.token })
      scope.register(async (mapped) => registerMapped(mapped, { ...deps, context, maxBytes: hooks.maxBodyBytes }))
      scope.register(async (direct) => registerDirect(direct, { ...deps, context }))
    },
    { prefix: hooks.path },
  )
}

type DirectRoutesDeps = Pick<HookRoutesDeps, 'hooks' | 'agentBody' | 'dispatch'> & { context: RouteContext }

/** The routes whose body is the action itself. */
function registerDirect(app: FastifyInstance, { hooks, agentBody, dispatch, context }: DirectRoutesDeps): void {
  const { keepBody } = hooks
  const [wakeSource, agentSource] = [directSource('wake', hooks), directSource('agent', hooks)]
  const authenticate =
    (hook: string): onRequestHookHandler =>
    (request, _reply, done) => {
      context.checkToken(request, { hook, keepBody })
      done()
    }
  app.addHook('preValidation', readBody({ maxBytes: hooks.maxBodyBytes, accept: 'object' }))
  const wake = { schema: wakeSchema, onRequest: authenticate('wake') }
  app.post<{ Body: WakeBody }>('/wake', wake, (request, reply) =>
    accept('wake', { request, reply }, dispatch.planWake(request.body, wakeSource)),
  )
  const agent = {
    schema: agentSchema(agentBody),
    onRequest: authenticate('agent'),
    preValidation: withTrimmedNames,
  }
  app.post<{ Body: AgentBody }>('/agent', agent, (request, reply) =>
    accept('agent', { request, reply }, dispatch.planAgent(request.body, agentSource)),
  )

  async function accept(hook: string, exchange: Exchange, plan: Plan<object>): Promise<object> {
    const incoming = readIncomingRequest(exchange.request, { hook, keepBody }, {})
    return await context.reply(exchange, await dispatch.accept(incoming, plan))
  }
}

const wakeSchema = {
  summary: 'Posts an event to the main session of the default agent.',
  body: WakeBody,
  readsHeaders: IdempotencyHeader,
  response: { 200: WakeReply, ...failures(422) },
}

const agentSchema = (body: HookRoutesDeps['agentBody']) => ({
  summary: 'Starts a run of an agent.',
  body,
  readsHeaders: AgentHeaders,
  response: { 200: AgentReply, ...failures(422) },
})

const withTrimmedNames: preValidationHookHandler = ({ body }, _reply, done) => {
  trimNames(body as object)
  done()
}
