// DOOR: POST {hooks.path}/wake and {hooks.path}/agent. Anything else under the prefix is nothing, but only for those who may ask.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Runs } from '../agents/runs.ts'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'
import { createHookAuth } from '../http/auth.ts'
import { readBody } from '../http/body.ts'
import { createThrottle } from '../http/throttle.ts'
import { type AgentBody, createAgentBody, WakeBody } from './action.ts'
import { arrivalOf } from './arrival.ts'
import type { AgentReply, Dispatch, Dispatched } from './dispatch.ts'
import { waitSeconds } from './prefer.ts'

export interface HooksDoor {
  hooks: Config['hooks'] & { token: string }
  /** Names of the loaded channels. */
  channels: Iterable<string>
  dispatch: Dispatch
  runs: Runs
}

export function registerHooks(app: FastifyInstance, { hooks, channels, dispatch, runs }: HooksDoor): void {
  void app.register(
    async (door) => {
      door.addHook('onRequest', createHookAuth({ token: hooks.token, throttle: createThrottle(hooks.rateLimit) }))
      door.post<{ Params: { '*': string } }>('/*', () => {
        throw new GatewayError('not_found', 'There is no hook of this name.')
      })
      door.register(async (strict) => {
        strict.addHook('preValidation', readBody({ maxBytes: hooks.maxBodyBytes, accept: 'object' }))
        strict.post<{ Body: WakeBody }>('/wake', { schema: { body: WakeBody } }, async (request, reply) => {
          return answer(reply, await dispatch.wake(request.body, arrivalOf(request, 'wake')))
        })
        strict.post<{ Body: AgentBody }>('/agent', { schema: { body: createAgentBody(channels) }, preValidation: trimNames }, async (request, reply) => {
          const accepted = answer(reply, await dispatch.agent(request.body, arrivalOf(request, 'agent')))
          return await waitFor(runs, accepted, { request, reply })
        })
      })
    },
    { prefix: hooks.path },
  )
}

/** Names of agents, channels and models mean the same with blanks around them. */
async function trimNames({ body }: FastifyRequest): Promise<void> {
  const fields = body as Record<string, unknown>
  for (const name of ['agentId', 'channel', 'model']) {
    const value = fields[name]
    if (typeof value === 'string') fields[name] = value.trim()
  }
}

function answer<Reply>(reply: FastifyReply, { reply: body, replayed }: Dispatched<Reply>): Reply {
  if (replayed) void reply.header('idempotent-replayed', 'true')
  return body
}

/** Holds the reply until the run ends or the caller's patience does: `Prefer: wait=N`. */
async function waitFor(runs: Runs, accepted: AgentReply, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): Promise<object> {
  const seconds = waitSeconds(request.headers.prefer as string | undefined)
  if (seconds === undefined) return accepted
  void reply.header('preference-applied', `wait=${seconds}`)
  const run = await runs.ended(accepted.runId, seconds * 1000)
  return { ...accepted, status: run?.status ?? 'queued', ...(run?.result.reply !== undefined && { reply: run.result.reply }) }
}
