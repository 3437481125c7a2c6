// Checks an action against the rules, then starts it: from here on every hook takes the same path.
import type { ActionOverrides } from '../action.ts'
import type { Agents } from '../agents/agents.ts'
import type { Models } from '../agents/models.ts'
import type { Runs } from '../runs/runs.ts'
import type { Config } from '../config/schema.ts'
import type { Recipients } from '../delivery/recipient.ts'
import { GatewayError } from '../errors.ts'
import { resolveHookSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { AcceptCommand, NewEvent, NewRun, Authentication } from '../store/store.ts'
import type { AgentReply, WakeBody, WakeReply } from './schemas.ts'
import type { RequestLog } from './request-log.ts'

/** What the route group knows of a request beside its action. */
export interface IncomingRequest {
  /** `wake`, `agent`, or the name of a mapped hook. */
  hook: string
  client: string
  /** A JSON object, without secrets. */
  headers: string
  /** The same, where the address has one. */
  query?: string | undefined
  rawBody: string
  /** False: the body is not stored. */
  keepBody: boolean
  /** `bodyHash` is empty where the key identifies the request by itself. */
  idempotency?: { scope: string; key: string; bodyHash: string } | undefined
  /** The request that an operator has repeated with this one. */
  replayOf?: string | undefined
  /** Absent: the hook token, or an operator's word. */
  authentication?: Authentication | undefined
}

export interface Dispatched<Reply> {
  reply: Reply
  /** True: this very request was accepted before, and `reply` is the reply it got then. */
  replayed: boolean
  requestId: string
}

/** What an action comes to once every rule of its endpoint is applied: the work, and the reply that it earns. */
export interface Plan<Reply> {
  work: Pick<AcceptCommand, 'events' | 'runs'>
  reply: Reply
}

/** The hook that an action came through. */
export interface Source {
  /** Its name. */
  hook: string
  /** True: its text is shown to the model without the external content wrapper. */
  trusted: boolean
  /** How its sender proved who it is. */
  auth: 'token' | 'signed'
  /** The mapping that has it. */
  mapping?: string | undefined
  /** True: the body of the request is the action itself. */
  direct: boolean
  /** Whether the body is stored. */
  keepBody: boolean
  /** How many of its runs may be under way at once; absent: any number. */
  concurrencyLimit?: NewRun['concurrencyLimit']
}

/** Of a request whose body is the action: what it says is the sender's. */
export const direct = (hook: string, keepBody: boolean): Source => ({
  hook,
  trusted: false,
  auth: 'token',
  direct: true,
  keepBody,
})

/** Of a request that a mapping has turned into actions. */
export const sourceOf = (
  hook: string,
  {
    id,
    trusted,
    verifier,
    concurrencyLimit,
    keepBody,
  }: Pick<Source, 'trusted' | 'concurrencyLimit' | 'keepBody'> & { id: string; verifier: unknown },
): Source => ({
  hook,
  mapping: id,
  trusted,
  auth: verifier ? 'signed' : 'token',
  direct: false,
  keepBody,
  concurrencyLimit,
})

/** The fields of an agent action, from the body of a request or from a mapping. */
export interface AgentWork extends Omit<ActionOverrides, 'action' | 'text' | 'idempotencyKey'> {
  message: string
  /** The session key that the operator chose. */
  fixedKey?: string | undefined
}

/** The fields of a wake action. Only a mapping may set an agent and a session. */
export interface WakeWork extends WakeBody, Pick<ActionOverrides, 'agentId' | 'sessionKey'> {
  /** The session key that the operator chose. */
  fixedKey?: string | undefined
}

/** A body that a sender wrote may hold any field; those that only a mapping may set are ignored. */
const withoutMappingFields = ({
  accountId: _account,
  threadId: _thread,
  fixedKey: _key,
  ...body
}: AgentWork): AgentWork => body

/**
 * What an action would start, by every rule of its endpoint; nothing is kept. Throws `invalid_request` for what they
 * refuse.
 */
export interface Planner {
  planWake(body: WakeWork, source: Source): Plan<WakeReply>
  planAgent(body: AgentWork, source: Source): Plan<AgentReply>
}

export interface Dispatch extends Planner {
  /** Stores it, all or nothing, and sets it going. */
  accept<Reply extends object>(incoming: IncomingRequest, plan: Plan<Reply>): Promise<Dispatched<Reply>>
}

interface PlannerDeps {
  config: Config
  agents: Agents
  models: Models
  recipients: Pick<Recipients, 'whyUndeliverable'>
  createId: () => string
}

interface DispatchDeps extends PlannerDeps {
  runs: Runs
  requestLog: RequestLog
}

/** How long an Idempotency-Key is remembered. */
const idempotencyMs = 24 * 60 * 60 * 1000

export function createPlanner(deps: PlannerDeps): Planner {
  const { agents, createId } = deps

  const planWake: Planner['planWake'] = (body, { hook, trusted, direct, keepBody }) => {
    const id = createId()
    const { text, mode = 'now' } = body
    const target = direct ? { sessionKey: agents.default.mainSession } : wakeTarget(deps, body)
    const event = {
      id,
      ...target,
      text: text.trim(),
      mode,
      source: `webhook ${hook}`,
      trusted,
      inBody: direct && keepBody,
    }
    const warnings = direct ? [] : agentWarnings(body.agentId, agents.get(body.agentId).id)
    return {
      work: { events: [event] },
      reply: { ok: true, mode, eventId: id, ...(warnings.length > 0 && { warnings }) },
    }
  }

  const planAgent: Planner['planAgent'] = (given, source) => {
    const body = source.direct ? withoutMappingFields(given) : given
    const run = createRun(deps, body, source)
    const warnings = warningsOf(deps, body, run)
    return {
      work: { runs: [run] },
      reply: { ok: true, runId: run.id, sessionKey: run.sessionKey, ...(warnings.length > 0 && { warnings }) },
    }
  }

  return { planWake, planAgent }
}

export function createDispatch(deps: DispatchDeps): Dispatch {
  const { runs, requestLog, createId } = deps

  const accept = async <Reply extends object>(
    incoming: IncomingRequest,
    { work, reply }: Plan<Reply>,
  ): Promise<Dispatched<Reply>> => {
    const at = Date.now()
    const { hook, client, headers, query, rawBody, keepBody, replayOf, authentication } = incoming
    const request = {
      id: createId(),
      hook,
      client,
      headers,
      query,
      body: keepBody ? rawBody : null,
      replayOf,
      authentication,
    }
    const idempotency = incoming.idempotency && {
      ...incoming.idempotency,
      expiresAt: at + idempotencyMs,
      reply: JSON.stringify(reply),
    }
    const result = await runs.accept({ at, request, idempotency, events: work.events, runs: work.runs })
    if (result.outcome === 'conflict') throw new GatewayError('idempotency_conflict')
    if (result.outcome === 'accepted') return { reply, replayed: false, requestId: request.id }
    requestLog.record({ ...request, status: 'duplicate' })
    return { reply: JSON.parse(result.reply) as Reply, replayed: true, requestId: request.id }
  }

  return { ...createPlanner(deps), accept }
}

function createRun(
  { config, agents, models, createId }: PlannerDeps,
  body: AgentWork,
  { hook, mapping, trusted, auth, concurrencyLimit }: Source,
): NewRun {
  checkAgentId(config, body.agentId)
  const agent = agents.get(body.agentId)
  const model = body.model?.trim()
  if (model !== undefined) models.requested(model, agent)
  const spec: RunSpec = {
    message: body.message,
    name: body.name?.trim(),
    origin: { kind: 'hook', name: hook, mapping, trusted, auth },
    model,
    thinking: body.thinking,
    timeoutSeconds: body.timeoutSeconds,
    deliver:
      body.deliver === false
        ? null
        : { channel: body.channel ?? 'last', to: body.to?.trim(), accountId: body.accountId, threadId: body.threadId },
    wakeMode: body.wakeMode ?? 'now',
  }
  const sessionKey = resolveHookSessionKey(config, {
    agentId: agent.id,
    requested: body.sessionKey,
    fixed: body.fixedKey,
    createId,
  })
  const unnamedSession = (body.fixedKey ?? body.sessionKey ?? config.hooks.defaultSessionKey) === undefined
  return {
    id: createId(),
    kind: 'hook',
    agentId: agent.id,
    sessionKey,
    unnamedSession,
    spec,
    maxAttempts: config.agents.defaults.maxAttempts,
    concurrencyLimit,
  }
}

/** What is not done as asked. A warning holds nothing of the body. */
function warningsOf({ recipients }: PlannerDeps, { agentId }: AgentWork, { agentId: runsAs, spec }: NewRun): string[] {
  const undeliverable = spec.deliver && recipients.whyUndeliverable(spec.deliver)
  return [...agentWarnings(agentId, runsAs), ...(undeliverable ? [undeliverable] : [])]
}

const agentWarnings = (asked: string | undefined, agentId: string): string[] =>
  asked === undefined || asked.trim().toLowerCase() === agentId
    ? []
    : ['agentId names no configured agent; the default agent runs it.']

/** Where the event of a mapping goes. Without an agent and a session it is the main session, as for every wake. */
function wakeTarget(
  { config, agents, createId }: PlannerDeps,
  { agentId, sessionKey, fixedKey }: WakeWork,
): Pick<NewEvent, 'sessionKey' | 'agentId'> {
  checkAgentId(config, agentId)
  const agent = agents.get(agentId)
  const isNamed = (fixedKey ?? sessionKey) !== undefined
  if (!isNamed) return { sessionKey: agent.mainSession, agentId: agentId === undefined ? undefined : agent.id }
  return {
    sessionKey: resolveHookSessionKey(config, { agentId: agent.id, requested: sessionKey, fixed: fixedKey, createId }),
    agentId: agent.id,
  }
}

/** The list holds for the id that was asked for, known or not; asking for none is always allowed. */
function checkAgentId({ hooks }: Config, asked: string | undefined): void {
  const allowed = hooks.allowedAgentIds
  if (asked === undefined || !allowed || allowed.includes('*')) return
  const id = asked.trim().toLowerCase()
  if (!allowed.some((entry) => entry.trim().toLowerCase() === id)) {
    throw new GatewayError(
      'invalid_request',
      'agentId is not one of hooks.allowedAgentIds; leave it out for the default agent, or add it there.',
    )
  }
}
