// Shortens steps for live updates.
import type { Json } from '../plugin/plugin.ts'
import type { StepChange } from '../store/commits/changes.ts'
import type { Step, StoredRun } from '../store/store.ts'

/** Live updates are short: what was said is read from the API. */
const maxLiveLength = 500

/** The arguments of a call are shown while it runs, and why it failed. */
export function toStepChange(
  { id, agentId, sessionKey }: Pick<StoredRun, 'id' | 'agentId' | 'sessionKey'>,
  { message: _message, content, ...step }: Step,
): StepChange {
  const { args, error } = content ?? {}
  const shown = {
    ...(args !== undefined && { args: shorten(args) }),
    ...(error !== undefined && { error: error.slice(0, maxLiveLength).toWellFormed() }),
  }
  return { runId: id, agentId, sessionKey, step: { ...step, content: shown } }
}

function shorten(args: Json): Json {
  const text = JSON.stringify(args)
  return text.length <= maxLiveLength ? args : `${text.slice(0, maxLiveLength).toWellFormed()}…`
}
