// DOOR: POST {hooks.path}/<name> for every name that mappings and presets are for.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Runs } from '../../agents/runs.ts'
import { GatewayError } from '../../errors.ts'
import { type HookGuard, headerReader, refuseTokenInQuery } from '../../http/auth.ts'
import { readBody } from '../../http/body.ts'
import { failures } from '../../http/failure.ts'
import { decode, parsePayload } from '../../http/payload.ts'
import type { Log } from '../../plugin.ts'
import type { Proof } from '../../store/store.ts'
import { AgentHeaders, MappedReply } from '../action.ts'
import { type Admitted, arrivalOf, handshakeOf, skippedOf } from '../arrival.ts'
import { type Dispatch, sourceOf } from '../dispatch.ts'
import type { Journal } from '../journal.ts'
import { planActions } from '../mapped-action.ts'
import type { MappedRequest } from '../mapping.ts'
import type { Mappings, Place } from '../mappings.ts'
import { stateAfter, waitSeconds } from '../prefer.ts'
import { visibleHeaders } from '../secret-headers.ts'
import type { HandshakeReply, SignedRequest, Verifier } from '../signature.ts'

export interface MappedDoor {
  mappings: Mappings
  guard: HookGuard
  /** From now on its refusals are noted. */
  admit(request: FastifyRequest, known: Admitted): void
  dispatch: Dispatch
  journal: Journal
  runs: Runs
  maxBytes: number
  /** The address at which senders reach the gateway; absent: that of the connection, which is right without a proxy. */
  publicUrl: string | undefined
  createId: () => string
  log: Log
}

export function registerMapped(app: FastifyInstance, door: MappedDoor): void {
  const { mappings, maxBytes } = door
  const keepBytes = readBody({ maxBytes })
  const now = createClock()
  app.post<{ Params: { '*': string } }>('/*', { schema: { hide: true }, ...stagesOf(asCalled) })
  for (const name of mappings.names.filter(isPlain)) {
    const hook: Hook = { name, place: mappings.at(name) }
    app.post(`/${name}`, { schema: schemaOf(hook), ...stagesOf(() => hook) })
    const asked = hook.place.verifiers.find(({ verifier }) => verifier.challenge !== undefined)?.verifier
    if (asked) registerChallenge(app, { name, verifier: asked, guard: door.guard, note: noteHandshake })
  }

  /** First who may ask and whether there is anything, then the bytes, then the signature over them, then what they say. */
  function stagesOf(hookOf: (request: FastifyRequest) => Hook) {
    return {
      onRequest: (request, reply, done) => {
        const { name, place } = hookOf(request)
        if (place.transforms) reply.raw.once('close', mappings.enter())
        refuseTokenInQuery(request)
        if (!isSigned(place)) {
          door.guard.judge(request, door.guard.hasToken(request))
          door.admit(request, { hook: name, keepBody: place.keepBody })
          if (place.mappings.length === 0) throw noHook()
        }
        done()
      },
      preValidation: keepBytes,
      handler: (request: FastifyRequest, reply: FastifyReply) => take(hookOf(request), request, reply),
    } satisfies RouteShorthandOptionsWithHandler
  }

  function asCalled({ params, url }: FastifyRequest): Hook {
    const { '*': decoded } = params as { '*': string }
    // The router decodes an encoded slash, too, but only a plain one separates segments.
    const name = /^[^?#]*%2f/i.test(url) ? '' : decoded
    return { name, place: mappings.at(name) }
  }

  async function take({ name, place }: Hook, request: FastifyRequest, reply: FastifyReply): Promise<object> {
    const proven = isSigned(place) ? await prove({ name, place }, request) : undefined
    if (proven?.handshake) {
      noteHandshake(request, request.admitted as Admitted)
      return answerQuestion(reply, proven.handshake)
    }
    request.text = decode(request.rawBody)
    const payload = parsePayload(request.text, 'object-or-array-or-form', request.headers['content-type'])
    const mapping = place.find(payload)
    if (!mapping) throw noHook()
    // A name may have several mappings: what was proven must be what this one asks for.
    const passed = proven?.passed.find(({ verifier }) => verifier === mapping.verifier)
    if (proven && !passed) door.guard.judge(request, false)
    mapping.rate?.()
    // Also the headers of the other mappings of this name: a request may hold the secret of one that it did not reach.
    const { hidden } = place
    const seen: MappedRequest = {
      payload,
      headers: visibleHeaders(request.headers, hidden),
      query: request.query as Record<string, unknown>,
      path: name,
      now: now(),
    }
    const drawn = await mapping.draw(seen)
    const sender = { hook: name, hidden, proof: passed?.proof, keepBody: mapping.keepBody }
    if (drawn.actions.length === 0) {
      door.journal.note({ id: door.createId(), hook: name, ...skippedOf(request, sender) })
      return { ok: true, skipped: true }
    }
    const plan = planActions(door.dispatch, drawn.actions, sourceOf(name, mapping))
    // Where no header competes with it, it makes no difference whether an id was signed.
    const signedId = passed?.id ?? (passed?.verifier?.signsBody && request.headers['idempotency-key'] !== undefined ? mapping.idInBody(seen) : undefined)
    const arrival = arrivalOf(request, { ...sender, signedId, providerId: drawn.providerId, source: mapping.source })
    const { reply: accepted, replayed } = await door.dispatch.accept(arrival, plan)
    if (replayed) void reply.header('idempotent-replayed', 'true')
    return request.headers.prefer === undefined ? accepted : await outcomeOf(door.runs, accepted, { request, reply })
  }

  /** Whoever proves nothing at all is refused before anything is made of the body. */
  async function prove({ name, place }: Hook, request: FastifyRequest): Promise<Proven> {
    const signed = signedPart(request, door.publicUrl)
    const passed: Passed[] = []
    let handshake: HandshakeReply | undefined
    for (const { verifier, secrets } of place.verifiers) {
      const judged = verifier.verify(signed)
      const verdict = judged instanceof Promise ? await judged : judged
      if (!verdict.ok) {
        door.log.info({ hook: name, requestId: request.id }, `not verified: ${verdict.reason}`)
        continue
      }
      if (verdict.secretIndex !== undefined) secrets?.note(verdict.secretIndex, signed.now)
      passed.push({ verifier, proof: { scheme: verifier.scheme, secret: verdict.secretIndex }, id: verdict.id })
      handshake ??= verdict.handshake
    }
    if (place.token && door.guard.hasToken(request)) passed.push({ verifier: undefined })
    door.guard.judge(request, passed.length > 0)
    door.admit(request, { hook: name, hidden: place.hidden, proof: passed[0]?.proof, keepBody: place.keepBody })
    return { passed, handshake }
  }

  function noteHandshake(request: FastifyRequest, known: Admitted): void {
    door.journal.note({ id: door.createId(), hook: known.hook, ...handshakeOf(request, known) })
  }
}

/** What a request is for. */
interface Hook {
  /** The one name under which it is found, limited, logged and remembered. */
  name: string
  place: Place
}

const isSigned = ({ verifiers }: Place): boolean => verifiers.length > 0

const noHook = () => new GatewayError('not_found', 'There is no hook of this name.')

/** Names that a router takes as they stand. */
const isPlain = (name: string): boolean => /^[\w.~-]+(?:\/[\w.~-]+)*$/.test(name)

/** What a request has proven, and how. */
interface Passed {
  /** Absent: the hook token. */
  verifier: Verifier | undefined
  proof?: Proof
  /** The id that was signed with it. */
  id?: string | undefined
}

/** What a sender has proven where senders sign. */
interface Proven {
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
  note(request: FastifyRequest, known: Admitted): void
}

/** Some services ask with a GET, once, whether the address is ours. */
function registerChallenge(app: FastifyInstance, { name, verifier, guard, note }: Challenge): void {
  const answer = { description: 'What the service wants to hear.', content: { 'text/plain': { schema: { type: 'string' } } } }
  const schema = { summary: `Answers the question with which the service of "${name}" makes sure of the address.`, signed: true, response: { 200: answer } }
  app.get(`/${name}`, { schema, onRequest: async (request) => refuseTokenInQuery(request) }, async (request, reply) => {
    const [, query = ''] = (request.raw.url ?? '').split(/\?(.*)/s)
    const found = verifier.challenge?.(new URLSearchParams(query))
    guard.judge(request, found !== undefined)
    note(request, { hook: name, hidden: verifier.hiddenHeaders, proof: { scheme: verifier.scheme }, keepBody: false })
    return answerQuestion(reply, found as HandshakeReply)
  })
}

function schemaOf({ name, place }: Hook) {
  const { mappings, token } = place
  return {
    summary: `The hook "${name}", as its mapping makes it.`,
    readsHeaders: AgentHeaders,
    readsBody: () => (mappings.length === 1 ? mappings[0]?.payloadSchema() : undefined),
    signed: isSigned(place) && !token,
    response: { 200: isSigned(place) ? withQuestions : MappedReply, ...failures(404, 422, 500) },
  }
}

/** Of a service that signs, and may ask whether the address is ours. */
const withQuestions = {
  description: 'What was started; or what the service wants to hear, where it only asks whether somebody is there.',
  content: { 'application/json': { schema: MappedReply }, 'text/plain': { schema: { type: 'string' } } },
}

/** Adds how its runs ended, where the caller wants to wait for that. */
async function outcomeOf(runs: Runs, accepted: object, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): Promise<object> {
  const { runId, runIds } = accepted as { runId?: string; runIds?: readonly string[] }
  const seconds = waitSeconds(request.headers.prefer as string | undefined)
  if (seconds === undefined || (runId === undefined && runIds === undefined)) return accepted
  void reply.header('preference-applied', `wait=${seconds}`)
  if (runId !== undefined) return { ...accepted, ...(await stateAfter(runs, runId, seconds)) }
  const stateOf = async (id: string) => ({ runId: id, ...(await stateAfter(runs, id, seconds)) })
  return { ...accepted, runs: await Promise.all((runIds ?? []).map(stateOf)) }
}
