// POST {hooks.path}/<name> for the names of mappings and presets.
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preValidationHookHandler,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import { GatewayError } from '../errors.ts'
import { headerReader, repeatedHeadersOf } from '../http/auth.ts'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { parseWebhookBody, type WebhookBody } from '../http/webhook-body.ts'
import type { Log, RepeatKey, SignedRequest } from '../plugin/plugin.ts'
import type { Authentication } from '../store/store.ts'
import type { ServiceReply, Verifier } from './auth/verifier.ts'
import {
  answerHeaderEcho,
  badSignature,
  type Hook,
  plainTextContent,
  registerHandshakes,
  sendServiceReply,
} from './handshake-routes.ts'
import { type AuthContext, handshakeOf, readIncomingRequest } from './incoming-request.ts'
import type { MappedRequest } from './mapped-request.ts'
import type { Mapping } from './mapping.ts'
import type { HookRoute, Mappings } from './mappings.ts'
import type { Pipeline } from './pipeline.ts'
import type { Exchange, RouteContext } from './route-context.ts'
import { AgentHeaders, MappedReply } from './schemas.ts'
import { trimSlashes } from '../config/hooks-path.ts'
import { visibleHeaders } from '../kit/secret-names.ts'
import { Type } from '../typebox.ts'

interface MappedRoutesDeps {
  mappings: Mappings
  context: RouteContext
  pipeline: Pipeline
  maxBytes: number
  /** The URL at which senders reach the gateway. Absent: that of the connection, which is right without a proxy. */
  publicUrl: string | undefined
  /** Tells the job of a preset that a webhook has come. */
  notifyJob(preset: string): void
  log: Log
}

export function registerMapped(app: FastifyInstance, deps: MappedRoutesDeps): void {
  const { mappings, context, maxBytes } = deps
  const preValidation = readBody({ maxBytes })
  const stages = { ...stagesOf(resolveHook), preValidation: readBodyOfAny }
  app.post<{ Params: { '*': string } }>('/*', { schema: { hide: true }, ...stages })
  for (const name of mappings.names.filter(isPlain)) {
    const hook: Hook = { name, hookRoute: mappings.routeFor(name) }
    app.post(`/${name}`, { schema: schemaOf(hook), ...stagesOf(() => hook) })
    registerHandshakes(app, hook, deps)
  }

  /** A token is checked before the body is read; a signature covers the body and is checked in the handler. */
  function stagesOf(hookOf: (request: FastifyRequest) => Hook) {
    return {
      onRequest: (request, reply, done) => {
        const { name, hookRoute } = hookOf(request)
        if (hookRoute.hasTransform) reply.raw.once('close', mappings.enter())
        if (!isSigned(hookRoute)) context.checkToken(request, { hook: name, keepBody: hookRoute.keepBody })
        done()
      },
      preValidation,
      handler: (request: FastifyRequest, reply: FastifyReply) =>
        handleRequest(hookOf(request), { request, reply }, deps),
    } satisfies RouteShorthandOptionsWithHandler
  }

  /** A hook that does not exist is not found, whatever is wrong with the body. */
  function readBodyOfAny(...[request, reply, done]: Parameters<preValidationHookHandler>): void {
    const isKnown = (): boolean => resolveHook(request).hookRoute.mappings.length > 0
    preValidation.call(app, request, reply, (error) => done(error && !isKnown() ? noHook() : error))
  }

  function resolveHook({ params, url }: FastifyRequest): Hook {
    const { '*': decoded } = params as { '*': string }
    // The router also decodes an encoded slash, but only a plain slash separates segments.
    const name = /^[^?#]*%2f/i.test(url) ? '' : trimSlashes(decoded)
    return { name, hookRoute: mappings.routeFor(name) }
  }
}

const isSigned = ({ verifiers }: HookRoute): boolean => verifiers.length > 0

const noHook = () => new GatewayError('not_found', 'There is no hook of this name.')

/** Whether a router accepts the name as it is written. */
const isPlain = (name: string): boolean => /^[\w.~-]+(?:\/[\w.~-]+)*$/.test(name)

async function handleRequest(hook: Hook, exchange: Exchange, deps: MappedRoutesDeps): Promise<object> {
  const { request, reply } = exchange
  const { name, hookRoute } = hook
  const { context, pipeline, notifyJob } = deps
  // The body is read before, so that a mapping can be written for what a sender has sent.
  if (hookRoute.mappings.length === 0) throw noHook()
  const echo = answerHeaderEcho(hook, exchange, deps.log)
  if (echo) return echo
  const authenticated = isSigned(hookRoute) ? await authenticate(hook, request, deps) : undefined
  if (authenticated?.handshake) {
    context.record(name, handshakeOf(request, request.authContext as AuthContext))
    return sendServiceReply(reply, authenticated.handshake)
  }
  const body = await parseWebhookBody(request.rawBody, request.headers['content-type'])
  request.text = body.text
  if (body.problem && !hookRoute.mappings.some(({ takesText }) => takesText)) throw body.problem
  const mapped = readMappedRequest(hook, request, { ...body, now: new Date().toISOString() })
  const mapping = hookRoute.findMapping(mapped)
  if (!mapping) throw noHook()
  const credential = authenticated?.credentials.find(({ verifier }) => verifier === mapping.verifier)
  // A name may have several mappings: the request must show the credential of the one that it reaches.
  if (authenticated && !credential) context.guard.judge(request, false, badSignature)
  const { preset, keepBody, source } = mapping
  const onResolved = () => preset !== undefined && notifyJob(preset)
  const planned = await pipeline.plan({ mapping, request: mapped, isLimited: true, onResolved })
  const { hiddenHeaders } = hookRoute
  const sender = { hook: name, hiddenHeaders, authentication: credential?.authentication, keepBody }
  const ids = planned.plan && {
    signedId: signedIdOf(credential, mapping, { request, mapped }),
    providerId: planned.providerId,
    source,
    verifiedBy: credential?.verifier && `${credential.verifier.scheme}:${mapping.id}`,
  }
  const incoming = readIncomingRequest(request, sender, ids)
  const accepted = await context.reply(exchange, await pipeline.accept(incoming, planned))
  return acknowledge(reply, credential) ?? accepted
}

const readMappedRequest = (
  { name, hookRoute }: Hook,
  request: FastifyRequest,
  { text: _text, ...body }: WebhookBody & Pick<MappedRequest, 'now'>,
): MappedRequest => ({
  ...body,
  payload: body.payload,
  // Hides the headers of every mapping of this name: the request may hold the secret of one that it did not reach.
  headers: visibleHeaders(request.headers, hookRoute.hiddenHeaders),
  repeatedHeaders: repeatedHeadersOf(request),
  query: request.query as Record<string, unknown>,
  path: name,
})

/** An id in a signed body matters only beside an `Idempotency-Key`, over which it takes precedence. */
function signedIdOf(
  credential: Credential | undefined,
  mapping: Mapping,
  { request, mapped }: { request: FastifyRequest; mapped: MappedRequest },
): string | RepeatKey | undefined {
  if (credential?.id !== undefined) return credential.id
  const competes = request.headers['idempotency-key'] !== undefined
  return competes && credential?.verifier?.signsBody ? mapping.idInBody(mapped) : undefined
}

// ── Signatures ──────────────────────────────────────────────────────────────────────────────────

/** A credential that a request has shown and that was accepted. */
interface Credential {
  /** Absent: the hook token. */
  verifier: Verifier | undefined
  authentication?: Authentication
  /** The id of the request that the signature covers. */
  id?: string | undefined
  /** The reply that the service expects. */
  acknowledgement?: ServiceReply | undefined
}

interface Authenticated {
  credentials: readonly Credential[]
  /** The reply, where the request is a handshake. */
  handshake: ServiceReply | undefined
}

/** Throws `unauthorized` unless the request shows at least one credential of this name; its body is not parsed yet. */
async function authenticate(
  { name, hookRoute }: Hook,
  request: FastifyRequest,
  { context, publicUrl, log }: MappedRoutesDeps,
): Promise<Authenticated> {
  const signed = readSignedRequest(request, publicUrl)
  const credentials: Credential[] = []
  const problems: string[] = []
  let handshake: ServiceReply | undefined
  for (const { verifier, secrets } of hookRoute.verifiers) {
    const verdict = await verifier.verify(signed)
    if (!verdict.ok) {
      log.info({ hook: name, reqId: request.id }, `not verified: ${verdict.reason}`)
      problems.push(verdict.reason)
      continue
    }
    const { secretIndex, id, acknowledgement } = verdict
    if (secretIndex !== undefined) secrets?.note(secretIndex, signed.now)
    credentials.push({
      verifier,
      authentication: { scheme: verifier.scheme, secret: secretIndex },
      id,
      acknowledgement,
    })
    handshake ??= verdict.handshake
  }
  const { guard } = context
  request.authProblem = problems.join('; ')
  if (hookRoute.acceptsToken && guard.hasToken(request)) credentials.push({ verifier: undefined })
  guard.judge(request, credentials.length > 0, hookRoute.acceptsToken ? undefined : badSignature)
  const { hiddenHeaders, keepBody } = hookRoute
  context.setAuthContext(request, {
    hook: name,
    hiddenHeaders,
    authentication: credentials[0]?.authentication,
    keepBody,
  })
  return { credentials, handshake }
}

const readSignedRequest = (request: FastifyRequest, publicUrl: string | undefined): SignedRequest => ({
  header: headerReader(request),
  rawBody: request.rawBody,
  method: request.method,
  url: () => `${publicUrl ?? `${request.protocol}://${request.host}`}${request.raw.url}`,
  now: Date.now(),
})

/** Sends the reply that the service expects to an event; undefined when it expects none. */
const acknowledge = (reply: FastifyReply, credential: Credential | undefined): FastifyReply | undefined =>
  credential?.acknowledgement && sendServiceReply(reply, credential.acknowledgement)

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────

function schemaOf({ name, hookRoute }: Hook) {
  const { mappings, acceptsToken } = hookRoute
  return {
    summary: `Accepts webhooks for "${name}", and starts what its mapping makes of them.`,
    readsHeaders: AgentHeaders,
    readsBody: () => (mappings.length === 1 ? mappings[0]?.payloadSchema() : undefined),
    readsForms: true,
    readsText: mappings.some(({ takesText }) => takesText),
    signed: isSigned(hookRoute) && !acceptsToken,
    response: { 200: isSigned(hookRoute) ? withHandshakes : MappedReply, ...failures(404, 422, 500) },
  }
}

const VerificationReply = Type.Unknown({ description: 'What the service expects, if that is JSON.' })

const withHandshakes = {
  description: 'What was started, or the reply to a verification request.',
  content: { 'application/json': { schema: Type.Union([MappedReply, VerificationReply]) }, ...plainTextContent },
}
