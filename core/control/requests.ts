// Requests: the log of what came in through the hooks, and having one repeated.
import { viewRun } from '../runs/run-view.ts'
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { runStatuses } from '../store/run-spec.ts'
import type { RequestSummary, Store, StoredRequest, StoredRun } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'
import { Authentication, ReplayReply } from './replay-reply.ts'
import { Run } from './runs.ts'

/** Starts what a request started, or would have. */
export type Replay = (
  stored: StoredRequest,
  request: { client: string; body?: unknown; mapping?: string | undefined; dryRun?: boolean | undefined },
) => Promise<object>

interface RequestsDeps {
  store: Pick<Store, 'listRequests' | 'getRequest' | 'getRun' | 'listRunDeliveries'>
  /** Absent while the hooks are off. */
  replay: Replay | undefined
}

export function requestEndpoints({ store, replay }: RequestsDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/requests',
      schema: {
        summary: 'Lists what came in through the hooks.',
        querystring: RequestsQuery,
        response: { 200: pageOf(Summary) },
      },
      handle: async ({ query }) => {
        const { hook, status, runStatus, since, q } = query
        return viewPage(
          await store.listRequests({ hook, status, runStatus, since: momentOf(since), text: q }, pageRequest(query)),
          viewRequest,
        )
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/requests/:id',
      schema: {
        summary: 'Tells what came in, and what it led to.',
        params: IdParams,
        response: { 200: WebhookRequest, ...failures(404) },
      },
      handle: async ({ params }) => {
        const request = await find(params.id)
        const { headers, query, body, result } = request
        const runs = await runsOf(request)
        const wakes = (result.eventIds ?? []).map((eventId) => ({ action: 'wake', eventId }))
        const work = runs.map(({ id, agentId, sessionKey }) => ({ action: 'agent', runId: id, agentId, sessionKey }))
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
        summary: 'Does again what a request asked for, as a request of its own.',
        params: IdParams,
        body: ReplayBody,
        response: { 200: ReplayReply, ...failures(404, 409) },
      },
      handle: async ({ params, body, client }) => {
        const request = await find(params.id)
        if (!replay)
          throw new GatewayError(
            'conflict',
            'The hooks are off, so nothing can be repeated; hooks.enabled turns them on.',
          )
        return await replay(request, { client, ...body })
      },
    }),
  ]

  async function find(id: string): Promise<StoredRequest> {
    const request = await store.getRequest(id)
    if (!request) throw new GatewayError('request_not_found')
    return request
  }

  async function runsOf({ result }: StoredRequest): Promise<StoredRun[]> {
    const runs = await Promise.all((result.runIds ?? []).map((id) => store.getRun(id)))
    return runs.filter((run) => run !== undefined)
  }

  async function view(run: StoredRun) {
    return viewRun(run, await store.listRunDeliveries(run.id))
  }
}

function momentOf(since: string | undefined): number | undefined {
  if (since === undefined) return undefined
  const at = Date.parse(since)
  if (Number.isNaN(at))
    throw new GatewayError('invalid_request', 'since is not a time; write it like 2026-11-20T08:00:00Z.')
  return at
}

export function viewRequest({ id, at, hook, status, client, result }: Omit<RequestSummary, 'seq'>) {
  // Of most there is nothing to store: they showed the hook token.
  const shown = result.authentication ?? (result.replayOf === undefined ? { scheme: 'hook-token' } : undefined)
  return { id, at: iso(at), hook, status, client, ...result, ...(shown && { authentication: shown }) }
}

const Status = Type.Enum(['accepted', 'skipped', 'rejected', 'failed', 'duplicate'])

const RequestsQuery = Type.Object({
  ...pageQuery,
  hook: Type.Optional(Type.String({ description: '`wake`, `agent`, or the name of a mapped hook.' })),
  status: Type.Optional(Status),
  runStatus: Type.Optional(
    Type.Enum([...runStatuses], {
      description: 'Only what led to a run with this status. Two hundred requests are looked at for each page.',
    }),
  ),
  since: Type.Optional(Type.String({ description: 'Only what came at or after this time, ISO 8601.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Text that the body holds, in any case. At most 200 bodies are searched for each page, or 2 MiB of them.',
    }),
  ),
})

const summary = {
  id: Type.String(),
  at: Time(),
  hook: Type.String(),
  status: Status,
  client: Type.String({ description: 'Address of the sender, or of the operator who had it repeated.' }),
  runIds: Type.Optional(Type.Array(Type.String())),
  eventIds: Type.Optional(Type.Array(Type.String())),
  error: Type.Optional(
    Type.Object(
      { type: Type.String(), message: Type.String() },
      { description: 'Why it led to nothing: what the sender was answered.' },
    ),
  ),
  reason: Type.Optional(
    Type.Enum(['handshake'], {
      description: 'Why there was nothing to do: the service only asked whether somebody is there.',
    }),
  ),
  replayOf: Type.Optional(Type.String({ description: 'The request that this one repeats.' })),
  authentication: Type.Optional(Authentication),
}

const Summary = Type.Object(summary)

const WebhookRequest = Type.Object({
  ...summary,
  headers: Type.Record(Type.String(), Type.String(), { description: 'Without credentials and signatures.' }),
  query: Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]), {
    description: 'The query of the address, without secrets.',
  }),
  body: Type.Union([Type.String(), Type.Null()], {
    description:
      'As it came, but for the tokens of a handshake; null when none was read, or it is not kept, or no more.',
  }),
  actions: Type.Array(
    Type.Object({
      action: Type.Enum(['wake', 'agent']),
      eventId: Type.Optional(Type.String()),
      runId: Type.Optional(Type.String()),
      agentId: Type.Optional(Type.String()),
      sessionKey: Type.Optional(Type.String()),
    }),
  ),
  runs: Type.Array(Run),
})

const ReplayBody = Type.Object({
  body: Type.Optional(Type.Unknown({ description: 'JSON in place of the body that came.' })),
  mapping: Type.Optional(
    Type.String({
      description: 'Id of the mapping, or name of the preset, that is to have it. Left out: the one that is found.',
    }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ default: false, description: 'True: nothing is started, and the answer says what would be.' }),
  ),
})
