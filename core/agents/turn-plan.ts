// Plans a run's turn without starting it. An attempt executes the plan, a dry run shows it.
import { isFromHook } from '../store/run-spec.ts'
import type { NewRun, StoredEvent } from '../store/store.ts'
import type { Policy } from '../tools/policy.ts'
import type { Agent } from './agents.ts'
import type { Model, Models } from './models.ts'
import { renderPrompt, renderSystemPrompt } from './prompt.ts'
import { subjectOfTurn, type TurnInput } from './turn.ts'

/** A run, and what its turn starts with. */
export interface PlannedRun {
  run: Pick<NewRun, 'id' | 'kind' | 'sessionKey' | 'spec'>
  agent: Agent
  /** The events that this turn renders. */
  events: readonly StoredEvent[]
  /** The heartbeat notes, if any. */
  notes?: string | undefined
  /** True if the session started with external content. */
  isExternalSession: boolean
  /** True if an earlier attempt at the run read external content. */
  hasReadExternalContent?: boolean
}

export interface PlanDeps {
  models: Models
  policy: Pick<Policy, 'listed'>
}

export type TurnPlan = Pick<TurnInput, 'agent' | 'model' | 'thinking' | 'system' | 'prompt' | 'sessionKey'> &
  Required<Pick<TurnInput, 'from'>>

/** Throws `invalid_request` if the run asks for a model that it may not use. */
export const resolveRunModel = (models: Models, { kind, spec }: PlannedRun['run'], agent: Agent): TurnInput['model'] =>
  kind === 'hook' && spec.model
    ? models.resolveRequested(spec.model, agent)
    : models.resolve(spec.model ?? agent.model, agent)

/** Throws `invalid_request` if the run asks for a model that it may not use. */
export function planTurn({ models, policy }: PlanDeps, planned: PlannedRun): TurnPlan {
  const { run, agent, events, notes } = planned
  const { sessionKey, spec } = run
  const model = resolveRunModel(models, run, agent)
  const from = resolveSubject(planned)
  return {
    agent,
    model,
    thinking: spec.thinking ?? agent.thinking,
    system: renderSystemPrompt(agent),
    prompt: renderPrompt({ spec, events, notes, withheld: listWithheldTools(policy, planned, { model, from }) }),
    sessionKey,
    from,
  }
}

/**
 * What the tool policy looks at. A turn that reads external events may do no more than a webhook's own run, whoever
 * started it, because the events may ask for anything.
 */
function resolveSubject({
  run: { id, sessionKey, spec },
  events,
  isExternalSession,
  hasReadExternalContent = false,
}: PlannedRun): TurnPlan['from'] {
  const { origin, deliver } = spec
  const isSessionRestricted = isFromHook(origin) || isExternalSession
  const fromHook = isSessionRestricted || hasReadExternalContent || events.some(({ trusted }) => !trusted)
  // In a conversation with people the restriction ends with this turn. In a webhook's session it stays.
  const scopes = fromHook ? [isSessionRestricted ? sessionKey : id, ...(origin.scopes ?? [])] : undefined
  const { client, initiators } = origin
  return {
    ...(origin.kind === 'channel' && { channel: origin.name, accountId: deliver?.accountId }),
    fromHook,
    scopes,
    client,
    initiators,
  }
}

/** The tools that this turn lacks because of its events. Undefined if the events are not the reason. */
function listWithheldTools(
  policy: PlanDeps['policy'],
  { run, agent, isExternalSession }: PlannedRun,
  { model, from }: { model: Model; from: TurnPlan['from'] },
): readonly string[] | undefined {
  if (!from.fromHook || isFromHook(run.spec.origin) || isExternalSession) return undefined
  const listNames = (fromHook: boolean) =>
    policy
      .listed(subjectOfTurn({ agent, sessionKey: run.sessionKey, model, from: { ...from, fromHook } }))
      .map(({ tool }) => tool.name)
  const remaining = new Set(listNames(true))
  return listNames(false).filter((name) => !remaining.has(name))
}
