// DOOR: POST {hooks.path}/wake and {hooks.path}/agent. Anything else under the prefix is nothing, but only for those who may ask.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Runs } from '../agents/runs.ts'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'
import { createHookAuth } from '../http/auth.ts'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { toGatewayError } from '../http/replies.ts'
import { nameDoor } from '../http/route-list.ts'
import { createThrottle } from '../http/throttle.ts'
import { type AgentBody, AgentHeaders, AgentReply, type createAgentBody, IdempotencyHeader, trimNames, WakeBody, WakeReply } from './action.ts'
import { arrivalOf, refusalOf } from './arrival.ts'
import type { Dispatch, Dispatched } from './dispatch.ts'
import type { Journal } from './journal.ts'
import { waitSeconds } from './prefer.ts'

export interface HooksDoor {
  hooks: Config['hooks'] & { token: string }
  /** What the endpoint for agents takes; it depends on the loaded channels. */
  agentBody: ReturnType<typeof createAgentBody>
  dispatch: Dispatch
  journal: Journal
  runs: Runs
  createId: () => string
}

export function registerHooks(app: FastifyInstance, { hooks, agentBody, dispatch, journal, runs, createId }: HooksDoor): void {
  const wake = {
    summary: 'Tells the default agent a line of news.',
    body: WakeBody,
    readsHeaders: IdempotencyHeader,
    response: { 200: WakeReply, ...failures(422) },
  }
  const agent = { summary: 'Gives an agent work.', body: agentBody, readsHeaders: AgentHeaders, response: { 200: AgentReply, ...failures(422) } }

  void app.register(
    async (door) => {
      nameDoor(door, 'hooks')
      door.addHook('onRequest', createHookAuth({ token: hooks.token, throttle: createThrottle(hooks.rateLimit) }))
      noteRefusals(door)
      door.post<{ Params: { '*': string } }>('/*', { schema: { hide: true } }, () => {
        throw new GatewayError('not_found', 'There is no hook of this name.')
      })
      door.register(async (strict) => {
        strict.addHook('preValidation', readBody({ maxBytes: hooks.maxBodyBytes, accept: 'object' }))
        strict.post<{ Body: WakeBody }>('/wake', { schema: wake }, async (request, reply) => {
          return answer(reply, await dispatch.wake(request.body, arrivalOf(request, 'wake')))
        })
        strict.post<{ Body: AgentBody }>('/agent', { schema: agent, preValidation: withTrimmedNames }, async (request, reply) => {
          const accepted = answer(reply, await dispatch.agent(request.body, arrivalOf(request, 'agent')))
          return await waitFor(runs, accepted, { request, reply })
        })
      })
    },
    { prefix: hooks.path },
  )

  /** Only of those who may ask: a stranger must not be able to fill the disk. */
  function noteRefusals(door: FastifyInstance): void {
    const admitted = new WeakSet<FastifyRequest>()
    door.addHook('onRequest', (request, _reply, done) => {
      admitted.add(request)
      done()
    })
    door.addHook('onError', async (request, _reply, error) => {
      if (admitted.has(request)) journal.note({ id: createId(), hook: nameOf(request), ...refusalOf(request, toGatewayError(error)) })
    })
  }

  function nameOf({ url }: FastifyRequest): string {
    return (url.split('?', 1)[0] as string).slice(hooks.path.length + 1, longestName)
  }
}

/** Characters that are kept of the name of a hook that there is not. */
const longestName = 256

async function withTrimmedNames({ body }: FastifyRequest): Promise<void> {
  trimNames(body as object)
}

function answer<Reply>(reply: FastifyReply, { reply: body, replayed }: Dispatched<Reply>): Reply {
  if (replayed) void reply.header('idempotent-replayed', 'true')
  return body
}

/** Holds the reply until the run ends or the caller's patience does: `Prefer: wait=N`. */
async function waitFor(runs: Runs, accepted: AgentReply, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): Promise<AgentReply> {
  const seconds = waitSeconds(request.headers.prefer as string | undefined)
  if (seconds === undefined) return accepted
  void reply.header('preference-applied', `wait=${seconds}`)
  const run = await runs.ended(accepted.runId, seconds * 1000)
  return { ...accepted, status: run?.status ?? 'queued', ...(run?.result.reply !== undefined && { reply: run.result.reply }) }
}
