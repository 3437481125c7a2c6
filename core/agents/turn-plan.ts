// What a run's turn begins with, worked out and nothing begun: an attempt has it, a dry run shows it.
import { isFromHook } from '../store/run-spec.ts'
import type { NewRun, StoredEvent } from '../store/store.ts'
import type { Policy } from '../tools/policy.ts'
import type { Agent } from './agents.ts'
import type { Model, Models } from './models.ts'
import { renderPrompt, systemPrompt } from './prompt.ts'
import { subjectOfTurn, type TurnInput } from './turn.ts'

/** A run and what it finds when its turn comes. */
export interface PlannedRun {
  run: Pick<NewRun, 'id' | 'kind' | 'sessionKey' | 'spec'>
  agent: Agent
  /** The news that this turn renders. */
  events: readonly StoredEvent[]
  /** The notes for periodic checks, if there are any. */
  notes?: string | undefined
  /** True: its session began with external content. */
  beganOutside: boolean
  /** True: what an earlier attempt at it has come to holds external content. */
  readOutside?: boolean
}

export interface PlanDeps {
  models: Models
  policy: Pick<Policy, 'listed'>
}

export type TurnPlan = Pick<TurnInput, 'agent' | 'model' | 'thinking' | 'system' | 'prompt' | 'sessionKey'> &
  Required<Pick<TurnInput, 'from'>>

/** The model that a run is for. Throws `invalid_request` for one that may not be used. */
export const modelOf = (models: Models, { kind, spec }: PlannedRun['run'], agent: Agent): TurnInput['model'] =>
  kind === 'hook' && spec.model ? models.requested(spec.model, agent) : models.resolve(spec.model ?? agent.model, agent)

/** Throws `invalid_request` for a model that may not be used. */
export function planTurn({ models, policy }: PlanDeps, planned: PlannedRun): TurnPlan {
  const { run, agent, events, notes } = planned
  const { sessionKey, spec } = run
  const model = modelOf(models, run, agent)
  const from = subjectOf(planned)
  return {
    agent,
    model,
    thinking: spec.thinking ?? agent.thinking,
    system: systemPrompt(agent),
    prompt: renderPrompt({ spec, events, notes, withheld: withheldFrom(policy, planned, { model, from }) }),
    sessionKey,
    from,
  }
}

/**
 * Whoever began it: a turn that reads news from outside may do no more than a webhook's own run, for the news may well
 * ask for it.
 */
function subjectOf({
  run: { id, sessionKey, spec },
  events,
  beganOutside,
  readOutside = false,
}: PlannedRun): TurnPlan['from'] {
  const { origin, deliver } = spec
  const ofSession = isFromHook(origin) || beganOutside
  const fromHook = ofSession || readOutside || events.some(({ trusted }) => !trusted)
  // A conversation with people is theirs again after this turn; one with webhooks never is.
  const scopes = fromHook ? [ofSession ? sessionKey : id, ...(origin.scopes ?? [])] : undefined
  const { initiators } = origin
  return {
    ...(origin.kind === 'channel' && { channel: origin.name, accountId: deliver?.accountId }),
    fromHook,
    scopes,
    initiators,
  }
}

/** The tools that this turn lacks because of its news, for the agent to know; absent: it lacks none for that reason. */
function withheldFrom(
  policy: PlanDeps['policy'],
  { run, agent, beganOutside }: PlannedRun,
  { model, from }: { model: Model; from: TurnPlan['from'] },
): readonly string[] | undefined {
  if (!from.fromHook || isFromHook(run.spec.origin) || beganOutside) return undefined
  const namesFor = (fromHook: boolean) =>
    policy
      .listed(subjectOfTurn({ agent, sessionKey: run.sessionKey, model, from: { ...from, fromHook } }))
      .map(({ tool }) => tool.name)
  const left = new Set(namesFor(true))
  return namesFor(false).filter((name) => !left.has(name))
}
