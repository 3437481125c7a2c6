// Checks every response of a gateway under test against the OpenAPI schema of its route: no undocumented status or
// body.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sharedStatuses } from '../core/control/openapi.ts'
import { compileCheck, type JsonSchema } from '../core/typebox.ts'

export interface Recorder {
  /** The distinct responses, such as `GET /runs/:id 404`. */
  answers: ReadonlySet<string>
  /** One sentence for each undocumented response. */
  surprises: readonly string[]
}

/** Call it before the gateway listens. */
export function recordAnswers(app: FastifyInstance): Recorder {
  const answers = new Set<string>()
  const surprises: string[] = []
  app.addHook('onSend', async (request, reply, payload) => {
    const { method, routeOptions } = request
    const { url = 'nowhere' } = routeOptions
    const surprise = request.is404 ? undefined : surpriseOf(request, reply, payload)
    answers.add(`${method} ${url} ${reply.statusCode}`)
    if (surprise) surprises.push(`${method} ${url} answered ${reply.statusCode}: ${surprise}`)
    return payload
  })
  return { answers, surprises }
}

function surpriseOf(
  { method, routeOptions }: FastifyRequest,
  { statusCode }: FastifyReply,
  payload: unknown,
): string | undefined {
  const { schema = {}, config } = routeOptions
  if (schema.hide) return undefined
  const documented = (schema.response ?? {}) as Record<number, JsonSchema & { content?: unknown }>
  const own = documented[statusCode]
  if (!own)
    return sharedStatuses({ method, routeGroup: config.routeGroup }).includes(statusCode) ? undefined : 'not documented'
  if (own.content || typeof payload !== 'string') return undefined
  const [problem] = compileCheck(own).problems(JSON.parse(payload))
  return problem && `${problem.path || 'the body'} ${problem.problem}`
}
