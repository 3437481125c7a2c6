// Converts steps into the form that the API returns, and into the short form of live updates.
import type { Json } from '../plugin/plugin.ts'
import type { StepChange } from '../store/commits/changes.ts'
import type { ListedStep, ModelStep, Step, StepContent, StoredRun, ToolStep } from '../store/store.ts'

/** The fields of a step of each kind are flat; those of the other kind are absent. */
export interface StepView extends Partial<ModelStep>, Partial<ToolStep>, StepContent {
  number: number
  attempt: number
  kind: Step['kind']
  status: Step['status']
  /** Times are ISO 8601, UTC. */
  startedAt: string
  endedAt?: string
}

export const viewStep = (step: ListedStep): StepView => ({
  number: step.number,
  attempt: step.attempt,
  kind: step.kind,
  status: step.status,
  startedAt: new Date(step.startedAt).toISOString(),
  ...(step.endedAt !== null && { endedAt: new Date(step.endedAt).toISOString() }),
  ...step.detail,
  ...step.content,
})

/** Live updates are short: what was said is read from the API. */
const maxLiveLength = 500

/** The arguments of a call are shown while it runs. */
export function toStepChange(
  { id, agentId, sessionKey }: Pick<StoredRun, 'id' | 'agentId' | 'sessionKey'>,
  { message: _message, content, ...step }: Step,
): StepChange {
  const args = content?.args === undefined ? null : { args: shorten(content.args) }
  const error = step.detail.error?.slice(0, maxLiveLength)
  const detail = { ...step.detail, ...(error !== undefined && { error }) }
  return { runId: id, agentId, sessionKey, step: { ...step, detail, content: args } as ListedStep }
}

function shorten(args: Json): Json {
  const text = JSON.stringify(args)
  return text.length <= maxLiveLength ? args : `${text.slice(0, maxLiveLength).toWellFormed()}…`
}
