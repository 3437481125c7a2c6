// Replays a stored request for an operator: the rules of the hook apply, as a new request without an idempotency key.
import type { Config } from '../config/schema/schema.ts'
import { GatewayError } from '../errors.ts'
import { parsePayload } from '../http/payload.ts'
import type { AuditedChange, NewRefusal, Store, StoredRequest } from '../store/store.ts'
import type { SessionOwners } from '../tools/session.ts'
import { type Check, compileCheck, firstProblem } from '../typebox.ts'
import { type AgentBody, type createAgentBody, trimNames, WakeBody } from './schemas.ts'
import { agentsOf, type Dispatch, directSource } from './dispatch.ts'
import { createDryRun, type DescribePlan } from './dry-run.ts'
import { lazily } from './mapped-action.ts'
import { readStoredRequest } from './mapped-request.ts'
import type { Mapping } from './mapping.ts'
import type { Mappings } from './mappings.ts'
import { createPipeline, type PlannedRequest } from './pipeline.ts'
import { redactQuery } from '../kit/secret-names.ts'

export interface ReplayRequest {
  /** Address of the operator. */
  client: string
  /** Replaces the stored body. */
  body?: unknown
  /** Id of the mapping to use instead of the one that matches. */
  mapping?: string | undefined
  /** True: nothing starts, and the reply shows what would start. */
  dryRun?: boolean | undefined
  /** Throws if the operator may not start work of this agent. */
  checkAgent(agentId: string): void
  /** Who replays it, for the audit log. */
  audit: AuditedChange
}

/** A stored request, or one that an operator makes, which has no id. */
export type Replayable = Omit<StoredRequest, 'id' | 'seq' | 'at' | 'client' | 'status'> & { id?: string }

export type Replay = (stored: Replayable, request: ReplayRequest) => Promise<object>

interface ReplayDeps {
  agents: SessionOwners
  dispatch: Dispatch
  agentBody: ReturnType<typeof createAgentBody>
  mappings: Mappings
  hooks: Pick<Config['hooks'], 'keepBody' | 'replyToSender'>
  store: Pick<Store, 'recordRefusal'>
  createId: () => string
  describePlan: DescribePlan
}

export function createReplay(deps: ReplayDeps): Replay {
  const { agents, dispatch, agentBody, mappings, hooks, store, createId, describePlan } = deps
  // The operator waits for the record of a request that is skipped, which is stored with its audit entry.
  const record = (refusal: NewRefusal) => store.recordRefusal(refusal, Date.now())
  const pipeline = createPipeline({ mappings, dispatch, createId, record })
  const showDryRun = createDryRun(describePlan)
  const checks: Record<string, () => Check> = {
    wake: lazily(() => compileCheck(WakeBody)),
    agent: lazily(() => compileCheck(agentBody)),
  }

  return async (request, { client, body, mapping: wanted, dryRun, checkAgent, audit }) => {
    const { hook, id } = request
    if (request.result.reason === 'handshake' && body === undefined) throw new GatewayError('conflict', handshakeText)
    if (wanted === undefined && !Object.hasOwn(checks, hook) && mappings.routeFor(hook).mappings.length === 0)
      throw noHook()
    const rawBody = body === undefined ? storedBody(request) : JSON.stringify(body)
    const replayed =
      wanted === undefined && Object.hasOwn(checks, hook)
        ? planDirect(hook, rawBody)
        : await planMapped(request, { rawBody, wanted, edited: body !== undefined })
    if (replayed.plan) agentsOf(replayed.plan.work, agents).forEach(checkAgent)
    if (dryRun) return await showDryRun(replayed, { request, isChosen: wanted !== undefined })
    const incoming = {
      hook,
      client,
      headers: JSON.stringify(request.headers),
      query: redactQuery(request.query),
      rawBody,
      keepBody: replayed.mapping?.keepBody ?? hooks.keepBody,
      audit,
      ...(id === undefined ? { authentication: { scheme: 'operator' } } : { replayOf: id }),
    }
    const { reply, requestId } = await pipeline.accept(incoming, replayed)
    return { ...reply, requestId }
  }

  function planDirect(hook: string, rawBody: string): PlannedRequest {
    const payload = parsePayload(rawBody, 'object', undefined)
    trimNames(payload)
    const check = (checks[hook] as () => Check)()
    if (!check.fits(payload)) throw new GatewayError('invalid_request', `${firstProblem(check.problems(payload))}.`)
    const source = directSource(hook, hooks)
    return {
      plan:
        hook === 'wake'
          ? dispatch.planWake(payload as WakeBody, source)
          : dispatch.planAgent(payload as AgentBody, source),
    }
  }

  async function planMapped(
    request: Replayable,
    { rawBody, wanted, edited }: { rawBody: string; wanted: string | undefined; edited: boolean },
  ): Promise<PlannedRequest> {
    const hookRoute = mappings.routeFor(request.hook)
    const chosen = wanted === undefined ? undefined : mappingById(wanted)
    const mapped = readStoredRequest(request, {
      rawBody,
      ...(edited && { contentType: undefined }),
      hiddenHeaders: hookRoute.hiddenHeaders.concat(chosen?.verifier?.hiddenHeaders ?? []),
    })
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

const bodylessText =
  'The body of this request is not stored: keepBody is false, storage.retention.bodyHours has passed, or the request ' +
  'was rejected before its body was read; send one in "body".'

function storedBody({ body }: Replayable): string {
  if (body === null) throw new GatewayError('conflict', bodylessText)
  return body
}
