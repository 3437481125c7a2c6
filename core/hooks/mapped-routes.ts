// POST {hooks.path}/<name> for every name that mappings and presets are for.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Runs } from '../runs/runs.ts'
import { GatewayError } from '../errors.ts'
import { type HookGuard, headerReader, refuseTokenInQuery } from '../http/auth.ts'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { decode, parsePayload } from '../http/payload.ts'
import type { Log } from '../plugin.ts'
import type { Authentication } from '../store/store.ts'
import { AgentHeaders, MappedReply } from './schemas.ts'
import { type AuthContext, readIncomingRequest, handshakeOf, skippedOf } from './incoming-request.ts'
import { type Dispatch, sourceOf } from './dispatch.ts'
import type { RequestLog } from './request-log.ts'
import { planActions } from './mapped-action.ts'
import type { MappedRequest } from './mapping.ts'
import type { Mappings, HookRoute } from './mappings.ts'
import { stateAfter, waitSeconds } from './prefer.ts'
import { visibleHeaders } from './secret-headers.ts'
import type { HandshakeReply, SignedRequest, Verifier } from './auth/signature.ts'

export interface MappedRoutesDeps {
  mappings: Mappings
  guard: HookGuard
  /** From now on its refusals are noted. */
  setAuthContext(request: FastifyRequest, known: AuthContext): void
  dispatch: Dispatch
  requestLog: RequestLog
  runs: Runs
  maxBytes: number
  /** The address at which senders reach the gateway; absent: that of the connection, which is right without a proxy. */
  publicUrl: string | undefined
  createId: () => string
  log: Log
}

export function registerMapped(app: FastifyInstance, deps: MappedRoutesDeps): void {
  const { mappings, maxBytes } = deps
  const keepBytes = readBody({ maxBytes })
  const now = createClock()
  app.post<{ Params: { '*': string } }>('/*', { schema: { hide: true }, ...stagesOf(resolveHook) })
  for (const name of mappings.names.filter(isPlain)) {
    const hook: Hook = { name, hookRoute: mappings.at(name) }
    app.post(`/${name}`, { schema: schemaOf(hook), ...stagesOf(() => hook) })
    const asked = hook.hookRoute.verifiers.find(({ verifier }) => verifier.challenge !== undefined)?.verifier
    if (asked) registerChallenge(app, { name, verifier: asked, guard: deps.guard, note: noteHandshake })
  }

  /**
   * First who may ask and whether there is anything, then the bytes, then the signature over them, then what they say.
   */
  function stagesOf(hookOf: (request: FastifyRequest) => Hook) {
    return {
      onRequest: (request, reply, done) => {
        const { name, hookRoute } = hookOf(request)
        if (hookRoute.transforms) reply.raw.once('close', mappings.enter())
        refuseTokenInQuery(request)
        if (!isSigned(hookRoute)) {
          deps.guard.judge(request, deps.guard.hasToken(request))
          deps.setAuthContext(request, { hook: name, keepBody: hookRoute.keepBody })
          if (hookRoute.mappings.length === 0) throw noHook()
        }
        done()
      },
      preValidation: keepBytes,
      handler: (request: FastifyRequest, reply: FastifyReply) => handleRequest(hookOf(request), request, reply),
    } satisfies RouteShorthandOptionsWithHandler
  }

  function resolveHook({ params, url }: FastifyRequest): Hook {
    const { '*': decoded } = params as { '*': string }
    // The router decodes an encoded slash, too, but only a plain one separates segments.
    const name = /^[^?#]*%2f/i.test(url) ? '' : decoded
    return { name, hookRoute: mappings.at(name) }
  }

  async function handleRequest(
    { name, hookRoute }: Hook,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<object> {
    const authenticated = isSigned(hookRoute) ? await authenticate({ name, hookRoute }, request) : undefined
    if (authenticated?.handshake) {
      noteHandshake(request, request.authContext as AuthContext)
      return answerQuestion(reply, authenticated.handshake)
    }
    request.text = decode(request.rawBody)
    const payload = parsePayload(request.text, 'object-or-array-or-form', request.headers['content-type'])
    const mapping = hookRoute.find(payload)
    if (!mapping) throw noHook()
    // A name may have several mappings: what was proven must be what this one asks for.
    const passed = authenticated?.passed.find(({ verifier }) => verifier === mapping.verifier)
    if (authenticated && !passed) deps.guard.judge(request, false)
    mapping.rate?.()
    // Also the headers of the other mappings of this name: a request may hold the secret of one that it did not reach.
    const { hidden } = hookRoute
    const seen: MappedRequest = {
      payload,
      headers: visibleHeaders(request.headers, hidden),
      query: request.query as Record<string, unknown>,
      path: name,
      now: now(),
    }
    const resolved = await mapping.resolveActions(seen)
    const sender = { hook: name, hidden, authentication: passed?.authentication, keepBody: mapping.keepBody }
    if (resolved.actions.length === 0) {
      deps.requestLog.record({ id: deps.createId(), hook: name, ...skippedOf(request, sender) })
      return { ok: true, skipped: true }
    }
    const plan = planActions(deps.dispatch, resolved.actions, sourceOf(name, mapping))
    // Where no header competes with it, it makes no difference whether an id was signed.
    const signedId =
      passed?.id ??
      (passed?.verifier?.signsBody && request.headers['idempotency-key'] !== undefined
        ? mapping.idInBody(seen)
        : undefined)
    const incoming = readIncomingRequest(request, {
      ...sender,
      signedId,
      providerId: resolved.providerId,
      source: mapping.source,
    })
    const { reply: accepted, replayed } = await deps.dispatch.accept(incoming, plan)
    if (replayed) void reply.header('idempotent-replayed', 'true')
    return request.headers.prefer === undefined ? accepted : await outcomeOf(deps.runs, accepted, { request, reply })
  }

  /** Whoever proves nothing at all is refused before anything is made of the body. */
  async function authenticate({ name, hookRoute }: Hook, request: FastifyRequest): Promise<Authenticated> {
    const signed = signedPart(request, deps.publicUrl)
    const passed: Passed[] = []
    let handshake: HandshakeReply | undefined
    for (const { verifier, secrets } of hookRoute.verifiers) {
      const judged = verifier.verify(signed)
      const verdict = judged instanceof Promise ? await judged : judged
      if (!verdict.ok) {
        deps.log.info({ hook: name, reqId: request.id }, `not verified: ${verdict.reason}`)
        continue
      }
      if (verdict.secretIndex !== undefined) secrets?.note(verdict.secretIndex, signed.now)
      passed.push({
        verifier,
        authentication: { scheme: verifier.scheme, secret: verdict.secretIndex },
        id: verdict.id,
      })
      handshake ??= verdict.handshake
    }
    if (hookRoute.token && deps.guard.hasToken(request)) passed.push({ verifier: undefined })
    deps.guard.judge(request, passed.length > 0)
    deps.setAuthContext(request, {
      hook: name,
      hidden: hookRoute.hidden,
      authentication: passed[0]?.authentication,
      keepBody: hookRoute.keepBody,
    })
    return { passed, handshake }
  }

  function noteHandshake(request: FastifyRequest, known: AuthContext): void {
    deps.requestLog.record({ id: deps.createId(), hook: known.hook, ...handshakeOf(request, known) })
  }
}

/** What a request is for. */
interface Hook {
  /** The one name under which it is found, limited, logged and remembered. */
  name: string
  hookRoute: HookRoute
}

const isSigned = ({ verifiers }: HookRoute): boolean => verifiers.length > 0

const noHook = () => new GatewayError('not_found', 'There is no hook of this name.')

/** Names that a router takes as they stand. */
const isPlain = (name: string): boolean => /^[\w.~-]+(?:\/[\w.~-]+)*$/.test(name)

/** What a request has proven, and how. */
interface Passed {
  /** Absent: the hook token. */
  verifier: Verifier | undefined
  authentication?: Authentication
  /** The id that was signed with it. */
  id?: string | undefined
}

/** What a sender has proven where senders sign. */
interface Authenticated {
  passed: readonly Passed[]
  /** It only asks whether somebody is there. */
  handshake: HandshakeReply | undefined
}

/** Now, as ISO 8601; what a millisecond is called is worked out once. */
function createClock(): () => string {
  let [at, text] = [0, '']
  return () => {
    const now = Date.now()
    if (now !== at) [at, text] = [now, new Date(now).toISOString()]
    return text
  }
}

const signedPart = (request: FastifyRequest, publicUrl: string | undefined): SignedRequest => ({
  header: headerReader(request),
  rawBody: request.rawBody,
  method: request.method,
  url: () => `${publicUrl ?? `${request.protocol}://${request.host}`}${request.raw.url}`,
  now: Date.now(),
})

function answerQuestion(reply: FastifyReply, { contentType, body }: HandshakeReply): FastifyReply {
  return reply.type(contentType).serializer(String).send(body)
}

interface Challenge {
  name: string
  verifier: Verifier
  guard: HookGuard
  note(request: FastifyRequest, known: AuthContext): void
}

/** Some services ask with a GET, once, whether the address is ours. */
function registerChallenge(app: FastifyInstance, { name, verifier, guard, note }: Challenge): void {
  const answer = {
    description: 'What the service wants to hear.',
    content: { 'text/plain': { schema: { type: 'string' } } },
  }
  const schema = {
    summary: `Answers the question with which the service of "${name}" makes sure of the address.`,
    signed: true,
    response: { 200: answer },
  }
  app.get(`/${name}`, { schema, onRequest: async (request) => refuseTokenInQuery(request) }, async (request, reply) => {
    const [, query = ''] = (request.raw.url ?? '').split(/\?(.*)/s)
    const found = verifier.challenge?.(new URLSearchParams(query))
    guard.judge(request, found !== undefined)
    note(request, {
      hook: name,
      hidden: verifier.hiddenHeaders,
      authentication: { scheme: verifier.scheme },
      keepBody: false,
    })
    return answerQuestion(reply, found as HandshakeReply)
  })
}

function schemaOf({ name, hookRoute }: Hook) {
  const { mappings, token } = hookRoute
  return {
    summary: `The hook "${name}", as its mapping makes it.`,
    readsHeaders: AgentHeaders,
    readsBody: () => (mappings.length === 1 ? mappings[0]?.payloadSchema() : undefined),
    signed: isSigned(hookRoute) && !token,
    response: { 200: isSigned(hookRoute) ? withQuestions : MappedReply, ...failures(404, 422, 500) },
  }
}

/** Of a service that signs, and may ask whether the address is ours. */
const withQuestions = {
  description: 'What was started; or what the service wants to hear, where it only asks whether somebody is there.',
  content: { 'application/json': { schema: MappedReply }, 'text/plain': { schema: { type: 'string' } } },
}

/** Adds how its runs ended, where the caller wants to wait for that. */
async function outcomeOf(
  runs: Runs,
  accepted: object,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<object> {
  const { runId, runIds } = accepted as { runId?: string; runIds?: readonly string[] }
  const seconds = waitSeconds(request.headers.prefer as string | undefined)
  if (seconds === undefined || (runId === undefined && runIds === undefined)) return accepted
  void reply.header('preference-applied', `wait=${seconds}`)
  if (runId !== undefined) return { ...accepted, ...(await stateAfter(runs, runId, seconds)) }
  const stateOf = async (id: string) => ({ runId: id, ...(await stateAfter(runs, id, seconds)) })
  return { ...accepted, runs: await Promise.all((runIds ?? []).map(stateOf)) }
}
