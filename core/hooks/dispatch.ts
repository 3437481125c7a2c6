// Checks an action against the rules of its endpoint, then stores and starts it. Every hook takes this path.
import type { ActionOverrides } from '../action.ts'
import type { Agents } from '../agents/agents.ts'
import type { Models } from '../agents/models.ts'
import type { Runs } from '../runs/runs.ts'
import type { Config } from '../config/schema/schema.ts'
import type { Recipients } from '../delivery/recipient.ts'
import { GatewayError } from '../errors.ts'
import { agentSessionKey, chosenSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { AcceptCommand, AuditedChange, NewEvent, NewRequest, NewRun } from '../store/store.ts'
import { locateSession, type SessionOwners } from '../tools/session.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'
import type { AgentReply, WakeBody, WakeReply } from './schemas.ts'
import type { RequestLog } from './request-log.ts'

/** A request as it came, or was replayed. */
export interface IncomingRequest extends Omit<NewRequest, 'id' | 'body'> {
  rawBody: string
  /** Whether the body is stored. */
  keepBody: boolean
  /** Whether its sender waits for the reply of the run. */
  isAwaited?: boolean
  /** `bodyHash` is empty when the key alone identifies the request; `latestOnly` if it is that of a `RepeatKey`. */
  idempotency?: { scope: string; key: string; bodyHash: string; latestOnly?: boolean } | undefined
  /** Its span. */
  trace?: TraceContext | undefined
  /** Who replays it, for the audit log. */
  audit?: AuditedChange | undefined
}

/** The row of a request. */
export function requestOf(
  { hook, client, headers, query, rawBody, keepBody, replayOf, authentication }: IncomingRequest,
  id: string,
): NewRequest {
  return { id, hook, client, headers, query, body: keepBody ? rawBody : null, replayOf, authentication }
}

export interface Dispatched<Reply> {
  reply: Reply
  /** True: the request is a duplicate, and `reply` is the reply to the first one. */
  replayed: boolean
  requestId: string
}

/** The work that an action would start, and the reply to its request. */
export interface Plan<Reply> {
  work: Pick<AcceptCommand, 'events' | 'runs'>
  reply: Reply
}

/** Where an action came from. */
export interface Source {
  /** Name of the hook. */
  hook: string
  /** True: its text is shown to the model without the external content wrapper. */
  trusted: boolean
  /** How the sender authenticated: with the hook token, or with a credential of the mapping. */
  auth: 'token' | 'signed'
  /** Id of the mapping. */
  mapping?: string | undefined
  /** Whether the body of the request is the action itself. */
  direct: boolean
  /** Whether the body is stored. */
  keepBody: boolean
  /** True: replies may go back to the sender whatever the turn has read. */
  repliesToSender: boolean
  /** How many of its runs may be in progress at once. Absent: any number. */
  concurrencyLimit?: NewRun['concurrencyLimit']
}

type DirectSettings = Pick<Config['hooks'], 'keepBody' | 'replyToSender'>

/** The source of a request whose body is the action itself. */
export const directSource = (hook: string, { keepBody, replyToSender }: DirectSettings): Source => ({
  hook,
  trusted: false,
  auth: 'token',
  direct: true,
  keepBody,
  repliesToSender: replyToSender,
})

/** The source of a request that a mapping turns into actions. */
export const mappingSource = (
  hook: string,
  {
    id,
    trusted,
    verifier,
    concurrencyLimit,
    keepBody,
    repliesToSender,
  }: Pick<Source, 'trusted' | 'concurrencyLimit' | 'keepBody' | 'repliesToSender'> & { id: string; verifier: unknown },
): Source => ({
  hook,
  mapping: id,
  trusted,
  auth: verifier ? 'signed' : 'token',
  direct: false,
  keepBody,
  repliesToSender,
  concurrencyLimit,
})

/** The fields of an agent action, from the body of a request or from a mapping. */
export interface AgentWork extends Omit<ActionOverrides, 'action' | 'text' | 'idempotencyKey'> {
  message: string
  /** The session key that the operator chose. */
  operatorKey?: string | undefined
}

/** The fields of a wake action. Only a mapping may set an agent and a session. */
export interface WakeWork extends WakeBody, Pick<ActionOverrides, 'agentId' | 'sessionKey'> {
  /** The session key that the operator chose. */
  operatorKey?: string | undefined
}

/** Removes the fields that only a mapping may set: the body of a request may hold any field. */
const withoutMappingFields = ({
  accountId: _account,
  threadId: _thread,
  operatorKey: _key,
  ...body
}: AgentWork): AgentWork => body

/** Applies the rules of an endpoint and stores nothing. Throws `invalid_request` when a rule rejects the action. */
export interface Planner {
  planWake(body: WakeWork, source: Source): Plan<WakeReply>
  planAgent(body: AgentWork, source: Source): Plan<AgentReply>
}

export interface Dispatch extends Planner {
  /** Stores the request and its work in one transaction; the work then starts. */
  accept<Reply extends object>(incoming: IncomingRequest, plan: Plan<Reply>): Promise<Dispatched<Reply>>
}

interface PlannerDeps {
  config: Config
  agents: Agents
  models: Models
  recipients: Pick<Recipients, 'findProblem' | 'whyUndeliverable'>
  createId: () => string
}

interface DispatchDeps extends PlannerDeps {
  runs: Runs
  requestLog: RequestLog
}

/** How long an idempotency key is stored. */
const idempotencyMs = 24 * 60 * 60 * 1000

/**
 * How long a webhook without an id counts as a retry of the one before: longer than the pauses between the attempts of
 * Alertmanager and Grafana (at most 90 seconds), and shorter than their usual time between two notifications of a group
 * (five minutes).
 */
const retryMs = 4 * 60 * 1000

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
    const request = { ...requestOf(incoming, createId()), agents: agentsOf(work, deps.agents) }
    const idempotency = incoming.idempotency && {
      ...incoming.idempotency,
      expiresAt: at + (incoming.idempotency.latestOnly ? retryMs : idempotencyMs),
      reply: JSON.stringify(reply),
    }
    const started = incoming.isAwaited ? { ...work, runs: work.runs?.map(awaited) } : work
    const result = await runs.accept({ at, request, idempotency, ...started, audit: incoming.audit }, incoming.trace)
    if (result.outcome === 'conflict') throw new GatewayError('idempotency_conflict')
    if (result.outcome === 'accepted') return { reply, replayed: false, requestId: request.id }
    requestLog.record({ ...request, status: 'duplicate' })
    return { reply: JSON.parse(result.reply) as Reply, replayed: true, requestId: request.id }
  }

  return { ...createPlanner(deps), accept }
}

const awaited = (run: NewRun): NewRun => ({ ...run, spec: { ...run.spec, isAwaited: true } })

/** The agents for which the work is. */
export function agentsOf({ events, runs }: Plan<unknown>['work'], agents: SessionOwners): string[] {
  const found = new Set(runs?.map(({ agentId }) => agentId))
  for (const { agentId, sessionKey } of events ?? []) found.add(agentId ?? locateSession(agents, sessionKey).agentId)
  return [...found]
}

function createRun(
  { config, agents, models, recipients, createId }: PlannerDeps,
  body: AgentWork,
  { hook, mapping, trusted, auth, keepBody, repliesToSender, concurrencyLimit }: Source,
): NewRun {
  checkAgentId(config, body.agentId)
  const agent = agents.get(body.agentId)
  const model = body.model?.trim()
  if (model !== undefined) models.resolveRequested(model, agent)
  const spec: RunSpec = {
    message: body.message,
    name: body.name?.trim(),
    origin: {
      kind: 'hook',
      name: hook,
      mapping,
      trusted,
      auth,
      ...(repliesToSender && { repliesToSender }),
      ...(!keepBody && { keepContent: false }),
    },
    model,
    thinking: body.thinking,
    timeoutSeconds: body.timeoutSeconds,
    deliver:
      body.deliver === false
        ? null
        : { channel: body.channel ?? 'last', to: body.to?.trim(), accountId: body.accountId, threadId: body.threadId },
    wakeMode: body.wakeMode ?? 'now',
  }
  const problem = spec.deliver && recipients.findProblem(spec.deliver)
  if (problem) throw new GatewayError('invalid_request', `${problem}.`)
  const id = createId()
  const chosen = chosenSessionKey(config, {
    agentId: agent.id,
    requested: body.sessionKey,
    fixed: body.operatorKey,
  })
  const { defaultSessionKey } = config.hooks
  return {
    id,
    kind: 'hook',
    agentId: agent.id,
    // A new session has the id of its first run.
    sessionKey: chosen ?? agentSessionKey(agent.id, defaultSessionKey ?? `hook:${id}`),
    unnamedSession: (chosen ?? defaultSessionKey) === undefined,
    spec,
    maxAttempts: config.agents.defaults.maxAttempts,
    concurrencyLimit,
  }
}

/** Says what differs from the request. A warning quotes nothing of the body. */
function warningsOf({ recipients }: PlannerDeps, { agentId }: AgentWork, { agentId: runsAs, spec }: NewRun): string[] {
  const undeliverable = spec.deliver && recipients.whyUndeliverable(spec.deliver)
  return [...agentWarnings(agentId, runsAs), ...(undeliverable ? [undeliverable] : [])]
}

const agentWarnings = (requested: string | undefined, agentId: string): string[] =>
  requested === undefined || requested.trim().toLowerCase() === agentId
    ? []
    : ['agentId names no configured agent; the default agent is used.']

/** The session for the event of a mapping: the main session, unless the mapping names an agent or a session. */
function wakeTarget(
  { config, agents }: PlannerDeps,
  { agentId, sessionKey, operatorKey }: WakeWork,
): Pick<NewEvent, 'sessionKey' | 'agentId'> {
  checkAgentId(config, agentId)
  const agent = agents.get(agentId)
  const chosen = chosenSessionKey(config, { agentId: agent.id, requested: sessionKey, fixed: operatorKey })
  if (chosen !== undefined) return { sessionKey: chosen, agentId: agent.id }
  return { sessionKey: agent.mainSession, agentId: agentId === undefined ? undefined : agent.id }
}

/** Checks the requested id, whether or not such an agent exists. A request without an agent is always allowed. */
function checkAgentId({ hooks }: Config, requested: string | undefined): void {
  const allowed = hooks.allowedAgentIds
  if (requested === undefined || !allowed || allowed.includes('*')) return
  const id = requested.trim().toLowerCase()
  if (!allowed.some((entry) => entry.trim().toLowerCase() === id)) {
    throw new GatewayError(
      'invalid_request',
      'agentId is not one of hooks.allowedAgentIds; leave it out for the default agent, or add it to the list.',
    )
  }
}
