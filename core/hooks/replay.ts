// Replays a stored request for an operator: the rules of the hook apply, as a new request without an idempotency key.
import type { Preview } from '../runs/preview.ts'
import { GatewayError } from '../errors.ts'
import { parsePayload } from '../http/payload.ts'
import { parseStoredBody } from '../http/webhook-body.ts'
import type { StoredRequest } from '../store/store.ts'
import { type Check, compileCheck, firstProblem } from '../typebox.ts'
import { type AgentBody, type createAgentBody, trimNames, WakeBody } from './schemas.ts'
import { type Dispatch, directSource } from './dispatch.ts'
import { createDryRun } from './dry-run.ts'
import type { Mapping } from './mapping.ts'
import type { Mappings } from './mappings.ts'
import type { Pipeline, PlannedRequest } from './pipeline.ts'
import { redactQuery, visibleHeaders, visibleQuery } from '../kit/secret-names.ts'

export interface ReplayRequest {
  /** Address of the operator. */
  client: string
  /** Replaces the stored body. */
  body?: unknown
  /** Id of the mapping to use instead of the one that matches. */
  mapping?: string | undefined
  /** True: nothing starts, and the reply shows what would start. */
  dryRun?: boolean | undefined
}

export type Replay = (stored: StoredRequest, request: ReplayRequest) => Promise<object>

interface ReplayDeps {
  dispatch: Dispatch
  agentBody: ReturnType<typeof createAgentBody>
  mappings: Mappings
  /** `hooks.keepBody` */
  keepBody: boolean
  pipeline: Pipeline
  preview: Preview
}

export function createReplay({ dispatch, agentBody, mappings, keepBody, pipeline, preview }: ReplayDeps): Replay {
  const showDryRun = createDryRun(preview)
  const checks: Record<string, () => Check> = { wake: lazily(WakeBody), agent: lazily(agentBody) }

  return async (request, { client, body, mapping: wanted, dryRun }) => {
    const { hook, id } = request
    if (request.result.reason === 'handshake' && body === undefined) throw new GatewayError('conflict', handshakeText)
    if (wanted === undefined && !Object.hasOwn(checks, hook) && mappings.routeFor(hook).mappings.length === 0)
      throw noHook()
    const rawBody = body === undefined ? storedBody(request) : JSON.stringify(body)
    const replayed =
      wanted === undefined && Object.hasOwn(checks, hook)
        ? planDirect(hook, rawBody)
        : await planMapped(request, { rawBody, wanted, edited: body !== undefined })
    if (dryRun) return await showDryRun(replayed, { request, isChosen: wanted !== undefined })
    const incoming = {
      hook,
      client,
      headers: JSON.stringify(request.headers),
      query: redactQuery(request.query),
      rawBody,
      keepBody: replayed.mapping?.keepBody ?? keepBody,
      replayOf: id,
    }
    const { reply, requestId } = await pipeline.accept(incoming, replayed)
    return { ...reply, requestId }
  }

  function planDirect(hook: string, rawBody: string): PlannedRequest {
    const payload = parsePayload(rawBody, 'object', undefined)
    trimNames(payload)
    const check = (checks[hook] as () => Check)()
    if (!check.fits(payload)) throw new GatewayError('invalid_request', `${firstProblem(check.problems(payload))}.`)
    const source = directSource(hook, keepBody)
    return {
      plan:
        hook === 'wake'
          ? dispatch.planWake(payload as WakeBody, source)
          : dispatch.planAgent(payload as AgentBody, source),
    }
  }

  async function planMapped(
    request: StoredRequest,
    { rawBody, wanted, edited }: { rawBody: string; wanted: string | undefined; edited: boolean },
  ): Promise<PlannedRequest> {
    const { hook } = request
    const headers = request.headers as Record<string, string>
    const { payload, isForm } = parseStoredBody(rawBody, edited ? undefined : headers['content-type'])
    const hookRoute = mappings.routeFor(hook)
    const chosen = wanted === undefined ? undefined : mappingById(wanted)
    const mapped = {
      payload,
      isForm,
      headers: visibleHeaders(headers, hookRoute.hiddenHeaders.concat(chosen?.verifier?.hiddenHeaders ?? [])),
      query: visibleQuery(request.query as Record<string, unknown>),
      path: hook,
      now: new Date().toISOString(),
    }
    const mapping = chosen ?? hookRoute.findMapping(mapped)
    if (!mapping) throw noHook()
    // The rate limit protects against senders. A person asked for this, perhaps because the limit rejected the request.
    return await pipeline.plan({ mapping, request: mapped, isLimited: false })
  }

  function mappingById(id: string): Mapping {
    const mapping = mappings.byId(id)
    if (!mapping)
      throw new GatewayError(
        'invalid_request',
        'mapping names no mapping and no enabled preset; leave it out to use the one that matches.',
      )
    return mapping
  }
}

const handshakeText =
  'This request was a verification request of the service, so there is nothing to replay; send a body to replay that.'

const noHook = () =>
  new GatewayError('conflict', 'There is no hook of this name, so the request cannot be replayed; name a mapping.')

function lazily(schema: Parameters<typeof compileCheck>[0]): () => Check {
  let check: Check | undefined
  return () => (check ??= compileCheck(schema))
}

const bodylessText =
  'The body of this request is not stored: keepBody is false, storage.retention.bodyHours has passed, or the request ' +
  'was rejected before its body was read; send one in "body".'

function storedBody({ body }: StoredRequest): string {
  if (body === null) throw new GatewayError('conflict', bodylessText)
  return body
}
