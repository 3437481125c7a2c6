// Checks an action against the rules, then starts it: from here on every hook takes the same path.
import type { Agents } from '../agents/agents.ts'
import type { Models } from '../agents/models.ts'
import type { Runs } from '../agents/runs.ts'
import type { Config } from '../config/schema.ts'
import type { Recipients } from '../delivery/recipient.ts'
import { GatewayError } from '../errors.ts'
import { resolveHookSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { AcceptCommand, NewEvent, NewRun } from '../store/store.ts'
import type { AgentBody, WakeBody } from './action.ts'

/** What the door knows of a request beside its action. */
export interface Arrival {
  /** `wake`, `agent`, or the name of a mapped hook. */
  hook: string
  client: string
  headers: Readonly<Record<string, string>>
  rawBody: string
  idempotency?: { key: string; bodyHash: string } | undefined
}

export interface WakeReply {
  ok: true
  mode: NewEvent['mode']
  eventId: string
}

export interface AgentReply {
  ok: true
  runId: string
  sessionKey: string
  warnings?: string[]
}

export interface Dispatched<Reply> {
  reply: Reply
  /** True: this very request was accepted before, and `reply` is the reply it got then. */
  replayed: boolean
}

export interface Dispatch {
  wake(body: WakeBody, arrival: Arrival): Promise<Dispatched<WakeReply>>
  agent(body: AgentBody, arrival: Arrival): Promise<Dispatched<AgentReply>>
}

interface DispatchDeps {
  config: Config
  agents: Agents
  models: Models
  recipients: Recipients
  runs: Runs
  createId: () => string
}

/** How long an Idempotency-Key is remembered. */
const idempotencyMs = 24 * 60 * 60 * 1000

export function createDispatch(deps: DispatchDeps): Dispatch {
  const { agents, runs, createId } = deps

  const accept = async <Reply extends object>(arrival: Arrival, work: Pick<AcceptCommand, 'events' | 'runs'>, reply: Reply): Promise<Dispatched<Reply>> => {
    const at = Date.now()
    const { hook, client, headers, rawBody, idempotency } = arrival
    const result = await runs.accept({
      at,
      delivery: { id: createId(), hook, client, headers, body: rawBody },
      ...(idempotency && { idempotency: { ...idempotency, scope: `hook:${hook}`, expiresAt: at + idempotencyMs, reply: JSON.stringify(reply) } }),
      ...work,
    })
    if (result.outcome === 'conflict') throw new GatewayError('idempotency_conflict')
    if (result.outcome === 'replayed') return { reply: JSON.parse(result.reply) as Reply, replayed: true }
    return { reply, replayed: false }
  }

  return {
    wake: async ({ text, mode = 'now' }, arrival) => {
      const id = createId()
      const event = { id, sessionKey: agents.default.mainSession, text: text.trim(), mode, source: `webhook ${arrival.hook}`, trusted: false }
      return await accept(arrival, { events: [event] }, { ok: true, mode, eventId: id })
    },
    agent: async (body, arrival) => {
      const run = createRun(deps, body, arrival.hook)
      const warning = body.deliver === false || !body.channel || body.channel === 'last' ? undefined : deps.recipients.unusable(body.channel)
      return await accept(arrival, { runs: [run] }, { ok: true, runId: run.id, sessionKey: run.sessionKey, ...(warning && { warnings: [warning] }) })
    },
  }
}

function createRun({ config, agents, models, createId }: DispatchDeps, body: AgentBody, hook: string): NewRun {
  checkAgentId(config, body.agentId)
  const agent = agents.get(body.agentId)
  const model = body.model?.trim()
  if (model !== undefined) models.requested(model, agent)
  const spec: RunSpec = {
    message: body.message,
    name: body.name?.trim(),
    origin: { kind: 'hook', name: hook, trusted: false, auth: 'token' },
    model,
    thinking: body.thinking,
    timeoutSeconds: body.timeoutSeconds,
    deliver: body.deliver === false ? null : { channel: body.channel ?? 'last', to: body.to?.trim() },
    wakeMode: body.wakeMode ?? 'now',
  }
  const sessionKey = resolveHookSessionKey(config, { agentId: agent.id, requested: body.sessionKey, createId })
  return { id: createId(), kind: 'hook', agentId: agent.id, sessionKey, spec, maxAttempts: config.agents.defaults.maxAttempts }
}

/** The list holds for the id that was asked for, known or not; asking for none is always allowed. */
function checkAgentId({ hooks }: Config, asked: string | undefined): void {
  const allowed = hooks.allowedAgentIds
  if (asked === undefined || !allowed || allowed.includes('*')) return
  const id = asked.trim().toLowerCase()
  if (!allowed.some((entry) => entry.trim().toLowerCase() === id)) {
    throw new GatewayError('invalid_request', 'agentId is not one of hooks.allowedAgentIds; leave it out for the default agent, or add it there.')
  }
}
