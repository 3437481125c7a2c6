// Answers verification requests, with which a service checks the address of a hook: by GET, by HEAD, or with a header.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { headerReader } from '../http/auth.ts'
import type { Log } from '../plugin/plugin.ts'
import { Type } from '../typebox.ts'
import { checkEcho } from './auth/echo.ts'
import { plainText, type ServiceReply, type Verifier } from './auth/verifier.ts'
import { handshakeOf } from './incoming-request.ts'
import type { HookRoute } from './mappings.ts'
import type { RouteContext } from './route-context.ts'

/** What a request asks for. */
export interface Hook {
  /** The canonical name, under which requests are found, limited, logged and stored. */
  name: string
  hookRoute: HookRoute
}

interface HandshakeDeps {
  context: Pick<RouteContext, 'guard' | 'record'>
  log: Log
}

export const sendServiceReply = (reply: FastifyReply, { contentType, body }: ServiceReply): FastifyReply =>
  reply.type(contentType).serializer(String).send(body)

/**
 * Registers the routes for the verification requests that a hook answers by GET and HEAD, also at its name with a
 * trailing slash.
 */
export function registerHandshakes(app: FastifyInstance, hook: Hook, deps: HandshakeDeps): void {
  registerHandshakesAt(`/${hook.name}`, app, { hook, deps })
  registerHandshakesAt(`/${hook.name}/`, app, { hook, deps, hide: true })
}

interface HandshakeRoutes {
  hook: Hook
  deps: HandshakeDeps
  hide?: boolean
}

function registerHandshakesAt(path: string, app: FastifyInstance, { hook, deps, hide = false }: HandshakeRoutes): void {
  const { name, hookRoute } = hook
  const verifiers = hookRoute.verifiers.map(({ verifier }) => verifier)
  // Before GET, for which Fastify would add its own HEAD.
  if (verifiers.some(({ echo }) => echo?.head))
    app.head(path, { schema: { ...headSchema(name), hide } }, async (request, reply) => {
      logEcho(deps.log, { hook: name, reqId: request.id })
      return reply.send()
    })
  const parameter = verifiers.find(({ echo }) => echo?.query !== undefined)?.echo?.query
  const challenged = verifiers.find(({ answerChallenge }) => answerChallenge !== undefined)
  if (parameter === undefined && !challenged) return
  app.get(path, { schema: { ...challengeSchema(name, parameter), hide } }, async (request, reply) => {
    const [, text = ''] = (request.raw.url ?? '').split(/\?(.*)/s)
    const query = new URLSearchParams(text)
    if (parameter === undefined || (challenged && !query.has(parameter)))
      return sendServiceReply(reply, answerChallenge(challenged as Verifier, { name, request, query }, deps.context))
    logEcho(deps.log, { hook: name, reqId: request.id })
    return sendServiceReply(reply, plainText(echoOf(query, parameter)))
  })
}

/** Answers a challenge that proves its sender with the agreed token, and records it. */
function answerChallenge(
  { answerChallenge: answer, scheme, hiddenHeaders }: Verifier,
  { name, request, query }: { name: string; request: FastifyRequest; query: URLSearchParams },
  { guard, record }: HandshakeDeps['context'],
): ServiceReply {
  const handshake = answer?.(query)
  guard.judge(request, handshake !== undefined, badSignature)
  record(name, handshakeOf(request, { hook: name, hiddenHeaders, authentication: { scheme }, keepBody: false }))
  return handshake as ServiceReply
}

/** Nothing proves who sent such a request, so it is logged and not stored. */
const logEcho = (log: Log, fields: { hook: string; reqId: string }): void =>
  log.info(fields, 'answered a verification request')

export const badSignature =
  'The signature or the secret is missing or wrong; compare the sender with the auth of this hook.'

function echoOf(query: URLSearchParams, parameter: string): string {
  const [value, ...more] = query.getAll(parameter)
  if (value === undefined || more.length > 0)
    throw new GatewayError('invalid_request', `The query parameter "${parameter}" is required, once.`)
  return checkEcho(value, `The query parameter "${parameter}"`)
}

/**
 * Answers a POST with the header of a verification request by echoing the header. Such a request is never an event,
 * whatever else it holds: otherwise the header would let a sender try secrets without being counted.
 */
export function answerHeaderEcho(
  { name, hookRoute }: Hook,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  log: Log,
): FastifyReply | undefined {
  for (const { verifier } of hookRoute.verifiers) {
    const header = verifier.echo?.header
    const value = header === undefined ? undefined : headerReader(request)(header)
    if (header === undefined || value === undefined) continue
    void reply.header(header, checkEcho(value, `The header ${header}`))
    logEcho(log, { hook: name, reqId: request.id })
    return sendServiceReply(reply, plainText(''))
  }
  return undefined
}

export const plainTextContent = { 'text/plain': { schema: { type: 'string' } } }

const headSchema = (name: string) => ({
  summary: `Answers the service of "${name}" when it checks the address.`,
  isHead: true,
  signed: true,
  response: { 200: { description: 'The hook exists.', content: {} } },
})

const challengeSchema = (name: string, parameter: string | undefined) => ({
  summary: `Answers the verification request of the service of "${name}".`,
  signed: true,
  ...(parameter !== undefined && { querystring: echoQuery(parameter) }),
  response: { 200: { description: 'The text that the service expects.', content: plainTextContent } },
})

/** The handler checks the value: a repeated parameter is a list. */
const echoQuery = (parameter: string) =>
  Type.Object({ [parameter]: Type.Optional(Type.Unknown({ description: 'The text that is echoed.' })) })
