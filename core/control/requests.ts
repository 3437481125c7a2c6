// The endpoints that list, show and replay webhook requests.
import { GatewayError } from '../errors.ts'
import { type Principal, reaches, requireAgent, requireContent } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import { runStatuses } from '../store/run-spec.ts'
import { agentOfKey, readText } from '../store/store.ts'
import type { AuditedChange, RequestSummary, Store, StoredRequest, StoredRun } from '../store/store.ts'
import type { ExplainNarrowing } from '../tools/explain-narrowing.ts'
import { Type } from '../typebox.ts'
import { content, sessionKey as sealedKey } from './content.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, parseSince, Time, viewPage } from './lists.ts'
import { Authentication, ReplayReply, SkippedBy } from './replay-reply.ts'
import { Run, viewRun } from './run-view.ts'

/** Handles a stored request again. */
export type Replay = (
  stored: StoredRequest,
  request: {
    client: string
    body?: unknown
    mapping?: string | undefined
    dryRun?: boolean | undefined
    /** Throws if the caller may not start work of this agent. */
    checkAgent(agentId: string): void
    audit: AuditedChange
  },
) => Promise<object>

interface RequestsDeps {
  store: Pick<Store, 'listRequests' | 'getRequest' | 'getRun' | 'listRenderedEvents' | 'listRunDeliveries'>
  explainNarrowing: ExplainNarrowing
  /** Undefined while the hooks are disabled. */
  replay?: Replay | undefined
  /** Undefined while the hooks are disabled. Returns undefined for a request whose body is not stored. */
  compareMappings?: ((request: StoredRequest) => readonly object[] | undefined) | undefined
}

export function requestEndpoints({ store, explainNarrowing, replay, compareMappings }: RequestsDeps): Endpoint[] {
  const findRequest = async (id: string, principal: Principal) => {
    const request = found(await store.getRequest(id), 'request_not_found')
    if (!reachesSome(principal, request)) throw new GatewayError('request_not_found')
    return request
  }

  return [
    endpoint({
      method: 'GET',
      path: '/api/requests',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Lists webhook requests.',
        querystring: RequestsQuery,
        response: { 200: pageOf(Summary) },
      },
      handle: async ({ query, principal }) => {
        const { hook, status, runStatus, since, q } = query
        // The answer would tell what a body contains.
        if (q !== undefined) requireContent(principal, 'searching bodies')
        const filter = { hook, status, runStatus, since: parseSince(since), text: q, agents: principal.agents }
        return viewPage(await store.listRequests(filter, pageRequest(query)), viewRequest)
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/requests/:id',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Returns a webhook request, its runs and its events.',
        params: IdParams,
        response: { 200: WebhookRequest, ...failures(404) },
      },
      handle: async ({ params, principal }) => {
        const request = await findRequest(params.id, principal)
        const { headers, query, body, result } = request
        const runs = (await getRuns(request)).filter(({ agentId }) => reaches(principal, agentId))
        const wakes = result.eventIds ? await getWakes(request, result.eventIds) : []
        const work = runs.map(({ id, agentId, sessionKey, spec }) => ({
          action: 'agent',
          runId: id,
          agentId,
          sessionKey,
          message: spec.message,
        }))
        return {
          ...viewRequest(request),
          // What it holds for other agents is not for this client.
          ...(reachesAll(principal, request) && { headers, query, body }),
          // Other mappings may belong to other agents.
          ...(!principal.agents && { mappings: compareMappings?.(request) }),
          actions: [...wakes.filter((wake) => reachesWake(principal, request, wake)), ...work],
          runs: await Promise.all(runs.map(view)),
        }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/requests/:id/replay',
      access: { needs: 'operate', scope: 'agents', action: 'request.replay' },
      schema: {
        summary: 'Replays a webhook request as a new request.',
        params: IdParams,
        body: ReplayBody,
        response: { 200: ReplayReply, ...failures(404, 409) },
      },
      handle: async ({ params, body, principal, source, change }) => {
        const request = await findRequest(params.id, principal)
        if (body.dryRun) requireContent(principal, 'a dry run')
        if (!replay)
          throw new GatewayError(
            'conflict',
            'The hooks are disabled, so requests cannot be replayed; set hooks.enabled to enable them.',
          )
        const checkAgent = (agentId: string): void => requireAgent(principal, agentId)
        const { address: client = '' } = source
        const replayed = change(request.id, request.result.agents?.[0])
        return await replay(request, { client, ...body, checkAgent, audit: replayed })
      },
    }),
  ]

  async function getRuns({ result }: StoredRequest): Promise<StoredRun[]> {
    const runs = await Promise.all((result.runIds ?? []).map((id) => store.getRun(id)))
    return runs.filter((run) => run !== undefined)
  }

  /** The body of a wake without a mapping holds its text. */
  async function getWakes({ id, hook, body }: StoredRequest, eventIds: readonly string[]) {
    const rendered = new Map((await store.listRenderedEvents(id)).map((event) => [event.id, event]))
    const direct = hook === 'wake' && body !== null && rendered.size === 0 ? readText(body) : undefined
    return eventIds.map((eventId) => {
      const { text: message = direct, sessionKey } = rendered.get(eventId) ?? {}
      return { action: 'wake', eventId, sessionKey, message }
    })
  }

  async function view(run: StoredRun) {
    return viewRun(run, await store.listRunDeliveries([run.id]), { explainNarrowing })
  }
}

/** A request belongs to the agents for which it started something. Others see no request that started nothing. */
const reachesSome = (principal: Pick<Principal, 'agents'>, { result }: Pick<RequestSummary, 'result'>): boolean =>
  !principal.agents || (result.agents ?? []).some((agentId) => reaches(principal, agentId))

const reachesAll = (principal: Pick<Principal, 'agents'>, { result }: Pick<RequestSummary, 'result'>): boolean =>
  (result.agents ?? []).every((id) => reaches(principal, id))

/** An event whose session is not known any more is shown if all work of the request is for agents of the client. */
function reachesWake(
  principal: Principal,
  request: StoredRequest,
  { sessionKey }: { sessionKey?: string | undefined },
) {
  const agentId = sessionKey === undefined ? undefined : agentOfKey(sessionKey)
  return agentId === undefined ? reachesAll(principal, request) : reaches(principal, agentId)
}

export function viewRequest({ id, at, hook, status, client, result }: Omit<RequestSummary, 'seq'>) {
  const { agents: _agents, isUnauthenticated, ...shown } = result
  // The scheme is stored only when it is not the hook token.
  const byToken = isUnauthenticated || result.replayOf !== undefined ? undefined : { scheme: 'hook-token' }
  const authentication = isUnauthenticated ? { scheme: 'none' } : (result.authentication ?? byToken)
  return { id, at: iso(at), hook, status, client, ...shown, ...(authentication && { authentication }) }
}

const Status = Type.Enum(['accepted', 'skipped', 'rejected', 'failed', 'duplicate'])

const RequestsQuery = Type.Object({
  ...pageQuery,
  hook: Type.Optional(Type.String({ description: '`wake`, `agent`, or the name of a mapped hook.' })),
  status: Type.Optional(Status),
  runStatus: Type.Optional(
    Type.Enum([...runStatuses], {
      description: 'Only requests that started a run with this status. Each page searches 200 requests.',
    }),
  ),
  since: Type.Optional(Type.String({ description: 'Only requests at or after this time, in ISO 8601.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Text that the body contains, ignoring case. Each page searches at most 200 bodies or 2 MiB.',
    }),
  ),
})

const summary = {
  id: Type.String(),
  at: Time(),
  hook: Type.String(),
  status: Status,
  client: Type.String({ description: 'The address of the sender, or of the operator who replayed the request.' }),
  runIds: Type.Optional(Type.Array(Type.String())),
  eventIds: Type.Optional(Type.Array(Type.String())),
  error: Type.Optional(
    Type.Object(
      {
        type: Type.String(),
        message: Type.String(),
        detail: Type.Optional(Type.String({ description: 'What a transform threw.', ...content })),
      },
      { description: 'Why the request failed.' },
    ),
  ),
  reason: Type.Optional(
    Type.Enum(['handshake', 'skip'], {
      description:
        'Why the request was skipped: it was a verification request, or met the conditions in `skip` of its mapping. ' +
        'Absent: the mapping made no action of it.',
    }),
  ),
  skippedBy: Type.Optional(SkippedBy),
  count: Type.Optional(
    Type.Integer({
      description:
        'The record stands for so many requests, of which it describes the last one. The requests of a hook that are ' +
        'not authenticated are counted after the fifth in a minute.',
    }),
  ),
  replayOf: Type.Optional(Type.String({ description: 'The request that this one replays.' })),
  authentication: Type.Optional(Authentication),
}

/** The schema of a request in a list. */
export const Summary = Type.Object(summary)

const WebhookRequest = Type.Object({
  ...summary,
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'The headers without credentials and signatures.',
      ...content,
    }),
  ),
  query: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]), {
      description: 'The query parameters without secrets.',
      ...content,
    }),
  ),
  body: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'The received body, without the tokens of a verification request. Null when none was read or none is stored.',
      ...content,
    }),
  ),
  mappings: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String({ description: 'The id of the mapping, or the name of the preset.' }),
        isUsed: Type.Boolean({ description: 'Whether it would handle the request now.' }),
        unmet: Type.Array(Type.String(), { description: 'The keys of its `match` that do not hold.' }),
      }),
      {
        description:
          'The current mappings of the hook, in the order in which they are tried. Absent: the body is not stored, or ' +
          'the client is limited to agents.',
        ...content,
      },
    ),
  ),
  actions: Type.Array(
    Type.Object({
      action: Type.Enum(['wake', 'agent']),
      eventId: Type.Optional(Type.String()),
      runId: Type.Optional(Type.String()),
      agentId: Type.Optional(Type.String()),
      sessionKey: Type.Optional(Type.String(sealedKey)),
      message: Type.Optional(
        Type.String({
          description:
            'What the agent reads, before it is wrapped as external content: the message of a run, or the text of an ' +
            'event. Absent: it is not stored any more.',
          ...content,
        }),
      ),
    }),
  ),
  runs: Type.Array(Run),
})

const ReplayBody = Type.Object({
  body: Type.Optional(Type.Unknown({ description: 'JSON that replaces the received body.' })),
  mapping: Type.Optional(
    Type.String({
      description: 'The id of the mapping or the name of the preset to use. The default is the one that matches.',
    }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'True: starts nothing and returns the actions that would be taken.' }),
  ),
})
