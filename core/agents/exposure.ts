// Determines whether a session or a turn holds external content or private data before its first tool call.
import { isFromHook } from '../store/run-spec.ts'
import type { Store, StoredRun } from '../store/store.ts'
import type { Agents } from './agents.ts'

export interface ExposureDeps {
  store: Pick<Store, 'getExposure'>
  agents: Pick<Agents, 'all'>
}

/**
 * Returns true if the session started with external content: the session of a webhook, or of one of its subagents.
 * Main sessions never count, even if a webhook came first: otherwise a webhook could permanently restrict the tools of
 * the person who uses that session.
 */
export async function isExternalSession({ store, agents }: ExposureDeps, sessionKey: string): Promise<boolean> {
  if (agents.all.some(({ mainSession }) => mainSession === sessionKey)) return false
  return (await store.getExposure(sessionKey))?.fromStart === true
}

/** For a run that holds external content: returns true if its prompt holds private data, too. */
export async function startsWithPrivateData(
  store: Pick<Store, 'getExposure'>,
  { run: { id, spec }, scope }: { run: Pick<StoredRun, 'id' | 'spec'>; scope: string },
): Promise<boolean> {
  // The scope is this turn only, so the rest of the conversation comes from people.
  if (scope === id) return true
  const { origin } = spec
  // An agent without external content started the run, and passes on what it knows.
  if (!isFromHook(origin)) return origin.initiators?.some(({ caller }) => caller === 'agent') === true
  const initiators = await Promise.all((origin.scopes ?? []).map((initiator) => store.getExposure(initiator)))
  return initiators.some((exposure) => exposure?.readsPrivate)
}

/**
 * Returns true if an earlier attempt at this run read external content with a tool. The model reads its steps again.
 */
export async function hasReadExternalContent(
  store: Pick<Store, 'getExposure'>,
  { id, steps }: Pick<StoredRun, 'id' | 'steps'>,
): Promise<boolean> {
  return steps > 0 && (await store.getExposure(id)) !== undefined
}
