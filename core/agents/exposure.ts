// Which sessions have external content in front of whoever speaks in them.
import { isFromHook } from '../store/run-spec.ts'
import type { Store, StoredRun } from '../store/store.ts'
import type { Agents } from './agents.ts'

export interface ExposureDeps {
  store: Pick<Store, 'getExposure'>
  agents: Pick<Agents, 'all'>
}

/**
 * Whether a session began with external content: a webhook's own, or one of its subagents'.
 * A main session belongs to its person whatever came first: a webhook must not take that person's tools away for good.
 */
export async function beganOutside({ store, agents }: ExposureDeps, sessionKey: string): Promise<boolean> {
  if (agents.all.some(({ mainSession }) => mainSession === sessionKey)) return false
  return (await store.getExposure(sessionKey))?.fromStart === true
}

/**
 * Whether the prompt of a run that holds external content holds private things, too, before any tool has read
 * something.
 */
export async function beginsWithPrivate(
  store: Pick<Store, 'getExposure'>,
  { run: { id, spec }, scope }: { run: Pick<StoredRun, 'id' | 'spec'>; scope: string },
): Promise<boolean> {
  // The scope is this turn alone: the conversation around the events is one of people.
  if (scope === id) return true
  const { origin } = spec
  // An agent that holds no external content speaks to one that does.
  if (!isFromHook(origin)) return origin.initiators?.some(({ caller }) => caller === 'agent') === true
  const initiators = await Promise.all((origin.scopes ?? []).map((initiator) => store.getExposure(initiator)))
  return initiators.some((exposure) => exposure?.readsPrivate)
}

/**
 * Whether an earlier attempt at this very turn has read external content with a tool: what it came to is in front of
 * the model again.
 */
export async function readOutside(
  store: Pick<Store, 'getExposure'>,
  { id, result }: Pick<StoredRun, 'id' | 'result'>,
): Promise<boolean> {
  return result.progress !== undefined && (await store.getExposure(id)) !== undefined
}
