// DOOR: POST {hooks.path}/<name> for every name that mappings and presets are for.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Runs } from '../../agents/runs.ts'
import { GatewayError } from '../../errors.ts'
import { type HookGuard, headerReader, refuseTokenInQuery } from '../../http/auth.ts'
import { readBody } from '../../http/body.ts'
import { failures } from '../../http/failure.ts'
import { parsePayload } from '../../http/payload.ts'
import type { Log } from '../../plugin.ts'
import type { Proof } from '../../store/store.ts'
import { AgentHeaders, MappedReply } from '../action.ts'
import { type Admitted, arrivalOf, handshakeOf } from '../arrival.ts'
import { type Dispatch, sourceOf } from '../dispatch.ts'
import type { Journal } from '../journal.ts'
import { planActions } from '../mapped-action.ts'
import type { Mappings } from '../mappings.ts'
import { stateAfter, waitSeconds } from '../prefer.ts'
import { visibleHeaders } from '../secret-headers.ts'
import type { HandshakeReply, SignedRequest, Verifier } from '../signature.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where senders sign: what this one has proven. */
    proven: readonly Passed[] | undefined
  }
}

export interface MappedDoor {
  mappings: Mappings
  guard: HookGuard
  /** From now on its refusals are noted. */
  admit(request: FastifyRequest, known?: Admitted): void
  dispatch: Dispatch
  journal: Journal
  runs: Runs
  maxBytes: number
  createId: () => string
  log: Log
}

export function registerMapped(app: FastifyInstance, door: MappedDoor): void {
  const { mappings, maxBytes } = door
  app.decorateRequest('proven')
  const keepBytes = readBody({ maxBytes })
  app.post<{ Params: { '*': string } }>('/*', { schema: { hide: true }, ...stagesOf((request) => (request.params as { '*': string })['*']) })
  for (const name of mappings.names.filter(isPlain)) {
    app.post(`/${name}`, { schema: schemaOf(name, mappings), ...stagesOf(() => name) })
    const asked = mappings.proofs(name).verifiers.find(({ verifier }) => verifier.challenge !== undefined)?.verifier
    if (asked) registerChallenge(app, { name, verifier: asked, guard: door.guard, note: noteHandshake })
  }

  /** First who may ask and whether there is anything, then the bytes, then the signature over them, then what they say. */
  function stagesOf(nameOf: (request: FastifyRequest) => string) {
    return {
      onRequest: (request, reply, done) => {
        reply.raw.once('close', mappings.enter())
        refuseTokenInQuery(request)
        if (!isSigned(nameOf(request))) {
          door.guard.judge(request, door.guard.hasToken(request))
          door.admit(request)
          if (mappings.of(nameOf(request)).length === 0) throw noHook()
        }
        done()
      },
      preValidation: [keepBytes, (request, reply, done) => (isSigned(nameOf(request)) ? prove(nameOf(request), request, reply) : done())],
      handler: (request: FastifyRequest, reply: FastifyReply) => take(nameOf(request), request, reply),
    } satisfies RouteShorthandOptionsWithHandler
  }

  const isSigned = (name: string): boolean => mappings.proofs(name).verifiers.length > 0

  /** Where senders sign, whoever proves nothing at all is refused before anything is made of the body. */
  async function prove(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const { verifiers, hidden, token } = mappings.proofs(name)
    const signed = signedPart(request)
    const passed: Passed[] = []
    let handshake: HandshakeReply | undefined
    for (const { verifier, secrets } of verifiers) {
      const verdict = await verifier.verify(signed)
      if (!verdict.ok) {
        door.log.info({ hook: name, requestId: request.id }, `not verified: ${verdict.reason}`)
        continue
      }
      if (verdict.secretIndex !== undefined) secrets?.note(verdict.secretIndex, signed.now)
      passed.push({ verifier, proof: { scheme: verifier.scheme, secret: verdict.secretIndex }, id: verdict.id })
      handshake ??= verdict.handshake
    }
    if (token && door.guard.hasToken(request)) passed.push({ verifier: undefined })
    door.guard.judge(request, passed.length > 0)
    const known = { hidden, proof: passed[0]?.proof }
    door.admit(request, known)
    request.proven = passed
    if (!handshake) return undefined
    noteHandshake(name, request, known)
    return answerQuestion(reply, handshake)
  }

  function noteHandshake(name: string, request: FastifyRequest, known: Admitted): void {
    door.journal.note({ id: door.createId(), hook: name, ...handshakeOf(request, known) })
  }

  async function take(name: string, request: FastifyRequest, reply: FastifyReply): Promise<object> {
    const payload = parsePayload(request.rawBody, 'object-or-array-or-form', request.headers['content-type'])
    const mapping = mappings.find(name, payload)
    if (!mapping) throw noHook()
    // A name may have several mappings: what was proven must be what this one asks for.
    const passed = request.proven?.find(({ verifier }) => verifier === mapping.verifier)
    if (request.proven && !passed) door.guard.judge(request, false)
    mapping.rate?.()
    const hidden = mapping.verifier?.hiddenHeaders ?? []
    const { proof, id: signedId } = passed ?? {}
    const drawn = await mapping.draw({
      payload,
      headers: visibleHeaders(request.headers, hidden),
      query: request.query as Record<string, unknown>,
      path: name,
      now: new Date().toISOString(),
    })
    const kept = { hook: name, hidden, proof, signedId, idempotencyKey: drawn.idempotencyKey }
    if (drawn.actions.length === 0) {
      const { idempotency: _none, rawBody, ...arrival } = arrivalOf(request, { hook: name, hidden, proof })
      door.journal.note({ id: door.createId(), ...arrival, body: rawBody, status: 'skipped' })
      return { ok: true, skipped: true }
    }
    const plan = planActions(door.dispatch, drawn.actions, sourceOf(name, mapping))
    const { reply: accepted, replayed } = await door.dispatch.accept(arrivalOf(request, kept), plan)
    if (replayed) void reply.header('idempotent-replayed', 'true')
    return request.headers.prefer === undefined ? accepted : await outcomeOf(door.runs, accepted, { request, reply })
  }
}

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

const signedPart = (request: FastifyRequest): SignedRequest => ({
  header: headerReader(request),
  rawBody: request.rawBody,
  method: request.method,
  url: () => `${request.protocol}://${request.host}${request.raw.url}`,
  now: Date.now(),
})

function answerQuestion(reply: FastifyReply, { contentType, body }: HandshakeReply): FastifyReply {
  return reply.type(contentType).serializer(String).send(body)
}

interface Challenge {
  name: string
  verifier: Verifier
  guard: HookGuard
  note(name: string, request: FastifyRequest, known: Admitted): void
}

/** Some services ask with a GET, once, whether the address is ours. */
function registerChallenge(app: FastifyInstance, { name, verifier, guard, note }: Challenge): void {
  const answer = { description: 'What the service wants to hear.', content: { 'text/plain': { schema: { type: 'string' } } } }
  const schema = { summary: `Answers the question with which the service of "${name}" makes sure of the address.`, signed: true, response: { 200: answer } }
  app.get(`/${name}`, { schema, onRequest: async (request) => refuseTokenInQuery(request) }, async (request, reply) => {
    const [, query = ''] = (request.raw.url ?? '').split(/\?(.*)/s)
    const found = verifier.challenge?.(new URLSearchParams(query))
    guard.judge(request, found !== undefined)
    note(name, request, { hidden: verifier.hiddenHeaders, proof: { scheme: verifier.scheme } })
    return answerQuestion(reply, found as HandshakeReply)
  })
}

function schemaOf(name: string, mappings: Mappings) {
  const { verifiers, token } = mappings.proofs(name)
  const reachable = mappings.of(name)
  return {
    summary: `The hook "${name}", as its mapping makes it.`,
    readsHeaders: AgentHeaders,
    readsBody: () => (reachable.length === 1 ? reachable[0]?.payloadSchema() : undefined),
    signed: verifiers.length > 0 && !token,
    response: { 200: verifiers.length > 0 ? withQuestions : MappedReply, ...failures(404, 422, 500) },
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
  const states = await Promise.all((runIds ?? []).map((id) => stateAfter(runs, id, seconds)))
  return { ...accepted, runs: states.map(({ status, reply: said }, index) => ({ runId: runIds?.[index], status, reply: said })) }
}
