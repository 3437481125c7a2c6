// What a run's turn begins with, worked out and nothing begun: an attempt has it, a dry run shows it.
import { isFromHook } from '../store/run-spec.ts'
import type { NewRun, StoredEvent } from '../store/store.ts'
import type { Agent } from './agents.ts'
import type { Models } from './models.ts'
import { renderPrompt, systemPrompt } from './prompt.ts'
import type { TurnInput } from './turn.ts'

/** A run and what it finds when its turn comes. */
export interface PlannedRun {
  run: Pick<NewRun, 'kind' | 'sessionKey' | 'spec'>
  agent: Agent
  /** The news that this turn renders. */
  events: readonly StoredEvent[]
  /** The notes for periodic checks, if there are any. */
  notes?: string | undefined
}

export type TurnPlan = Pick<TurnInput, 'agent' | 'model' | 'thinking' | 'system' | 'prompt' | 'sessionKey' | 'from'>

/** Throws `invalid_request` for a model that may not be used. */
export function planTurn(models: Models, { run, agent, events, notes }: PlannedRun): TurnPlan {
  const { kind, sessionKey, spec } = run
  return {
    agent,
    model: kind === 'hook' && spec.model ? models.requested(spec.model, agent) : models.resolve(spec.model ?? agent.model, agent),
    thinking: spec.thinking ?? agent.thinking,
    system: systemPrompt(agent),
    prompt: renderPrompt({ spec, events, notes }),
    sessionKey,
    from: subjectOf(run, events),
  }
}

/** A periodic check that reads news from outside may do no more than a webhook's own run: the news may well ask for it. */
function subjectOf({ kind, spec: { origin, deliver } }: PlannedRun['run'], events: readonly StoredEvent[]): TurnInput['from'] {
  const fromHook = isFromHook(origin) || (kind === 'heartbeat' && events.some(({ trusted }) => !trusted))
  const { starters } = origin
  return origin.kind === 'channel' ? { channel: origin.name, accountId: deliver?.accountId, fromHook, starters } : { fromHook, starters }
}
