// The endpoints that list, show and replay webhook requests.
import { viewRun } from '../runs/run-view.ts'
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { runStatuses } from '../store/run-spec.ts'
import { readText } from '../store/store.ts'
import type { RequestSummary, Store, StoredRequest, StoredRun } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'
import { Authentication, ReplayReply, SkippedBy } from './replay-reply.ts'
import { Run } from './runs.ts'

/** Handles a stored request again. */
export type Replay = (
  stored: StoredRequest,
  request: { client: string; body?: unknown; mapping?: string | undefined; dryRun?: boolean | undefined },
) => Promise<object>

interface RequestsDeps {
  store: Pick<Store, 'listRequests' | 'getRequest' | 'getRun' | 'listRenderedEvents' | 'listRunDeliveries'>
  /** Undefined while the hooks are disabled. */
  replay: Replay | undefined
}

export function requestEndpoints({ store, replay }: RequestsDeps): Endpoint[] {
  const findRequest = async (id: string) => found(await store.getRequest(id), 'request_not_found')

  return [
    endpoint({
      method: 'GET',
      path: '/api/requests',
      schema: {
        summary: 'Lists webhook requests.',
        querystring: RequestsQuery,
        response: { 200: pageOf(Summary) },
      },
      handle: async ({ query }) => {
        const { hook, status, runStatus, since, q } = query
        return viewPage(
          await store.listRequests({ hook, status, runStatus, since: parseSince(since), text: q }, pageRequest(query)),
          viewRequest,
        )
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/requests/:id',
      schema: {
        summary: 'Returns a webhook request, its runs and its events.',
        params: IdParams,
        response: { 200: WebhookRequest, ...failures(404) },
      },
      handle: async ({ params }) => {
        const request = await findRequest(params.id)
        const { headers, query, body, result } = request
        const runs = await getRuns(request)
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
          headers,
          query,
          body,
          actions: [...wakes, ...work],
          runs: await Promise.all(runs.map(view)),
        }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/requests/:id/replay',
      schema: {
        summary: 'Replays a webhook request as a new request.',
        params: IdParams,
        body: ReplayBody,
        response: { 200: ReplayReply, ...failures(404, 409) },
      },
      handle: async ({ params, body, client }) => {
        const request = await findRequest(params.id)
        if (!replay)
          throw new GatewayError(
            'conflict',
            'The hooks are disabled, so requests cannot be replayed; set hooks.enabled to enable them.',
          )
        return await replay(request, { client, ...body })
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
    return viewRun(run, await store.listRunDeliveries(run.id))
  }
}

function parseSince(since: string | undefined): number | undefined {
  if (since === undefined) return undefined
  const at = Date.parse(since)
  if (Number.isNaN(at))
    throw new GatewayError('invalid_request', 'since is not a time; use a format such as 2026-11-20T08:00:00Z.')
  return at
}

export function viewRequest({ id, at, hook, status, client, result }: Omit<RequestSummary, 'seq'>) {
  // The scheme is stored only when it is not the hook token.
  const authentication = result.authentication ?? (result.replayOf === undefined ? { scheme: 'hook-token' } : undefined)
  return { id, at: iso(at), hook, status, client, ...result, ...(authentication && { authentication }) }
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
      { type: Type.String(), message: Type.String() },
      { description: 'Why the request failed, as reported to the sender.' },
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
  replayOf: Type.Optional(Type.String({ description: 'The request that this one replays.' })),
  authentication: Type.Optional(Authentication),
}

const Summary = Type.Object(summary)

const WebhookRequest = Type.Object({
  ...summary,
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'The headers without credentials and signatures.',
  }),
  query: Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]), {
    description: 'The query parameters without secrets.',
  }),
  body: Type.Union([Type.String(), Type.Null()], {
    description:
      'The received body, without the tokens of a verification request. Null when none was read or none is stored.',
  }),
  actions: Type.Array(
    Type.Object({
      action: Type.Enum(['wake', 'agent']),
      eventId: Type.Optional(Type.String()),
      runId: Type.Optional(Type.String()),
      agentId: Type.Optional(Type.String()),
      sessionKey: Type.Optional(Type.String()),
      message: Type.Optional(
        Type.String({
          description:
            'What the agent reads, before it is wrapped as external content: the message of a run, or the text of an ' +
            'event. Absent: it is not stored any more.',
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
