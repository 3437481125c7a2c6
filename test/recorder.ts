// Checks every response of a gateway under test against the OpenAPI schema of its route: no undocumented status, type
// of body or property.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sharedStatuses } from '../core/control/openapi.ts'
import { type Check, compileCheck, type JsonSchema } from '../core/typebox.ts'

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
  reply: FastifyReply,
  payload: unknown,
): string | undefined {
  const { schema = {}, config } = routeOptions
  if (schema.hide) return undefined
  const { statusCode } = reply
  const documented = (schema.response ?? {}) as Record<number, Answer>
  const own = documented[statusCode]
  if (!own)
    return sharedStatuses({ method, routeGroup: config.routeGroup }).includes(statusCode) ? undefined : 'not documented'
  const { content = { 'application/json': { schema: own } } } = own
  const type = typeOf(reply, payload)
  if (type === undefined) return undefined
  const found = Object.entries(content).find(([range]) => isWithin(range, type))
  if (!found) return `its type ${type} is not documented`
  if (type !== 'application/json' || typeof payload !== 'string') return undefined
  const [problem] = checkExactly(found[1].schema).problems(JSON.parse(payload))
  return problem && `${problem.path || 'the body'} ${problem.problem}`
}

type Answer = JsonSchema & { content?: Readonly<Record<string, { schema: JsonSchema }>> }

/** The media type of a body; undefined if there is none. */
function typeOf(reply: FastifyReply, payload: unknown): string | undefined {
  if (payload === undefined || payload === null || payload === '') return undefined
  return String(reply.getHeader('content-type')).split(';', 1)[0]
}

const isWithin = (range: string, type: string): boolean =>
  range === type || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))

const checks = new WeakMap<object, Check>()

/** A property that the schema does not list does not fit. */
export function checkExactly(schema: JsonSchema): Check {
  const known = checks.get(schema)
  if (known) return known
  const check = compileCheck(close(schema) as JsonSchema)
  checks.set(schema, check)
  return check
}

/** The schema with its objects closed, except those that say themselves what else they may hold. */
function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close)
  if (typeof node !== 'object' || node === null) return node
  const closed = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, close(value)]))
  const isOpen = !('properties' in node) || 'additionalProperties' in node || 'patternProperties' in node
  return isOpen ? closed : { ...closed, additionalProperties: false }
}
