// What a request would come to, for whoever wants to see it before anything is started: nothing here stores or sends.
import type { Preview } from '../runs/preview.ts'
import type { NewEvent, NewRun, StoredRequest } from '../store/store.ts'
import type { Mapping } from './mapping.ts'
import type { Replayed } from './replay.ts'

interface Asked {
  request: StoredRequest
  /** True: the mapping was named, not found. */
  chosen: boolean
}

export function createDryRun(preview: Preview): (replayed: Replayed, asked: Asked) => Promise<object> {
  return async ({ plan, mapping }, { request, chosen }) => {
    const { events = [], runs = [] } = plan?.work ?? {}
    return {
      ok: true,
      dryRun: true,
      ...(mapping && { mapping: mapping.id }),
      matchedBy: chosen ? 'request' : matchedBy(mapping),
      auth: { scheme: mapping?.verifier?.scheme ?? 'hook-token', ...givenBy(request) },
      actions: [...events.map(viewWake), ...(await Promise.all(runs.map(viewAgent)))],
      ...(events.length > 0 && { heartbeat: await preview.heartbeat(events) }),
    }
  }

  async function viewAgent(run: NewRun): Promise<object> {
    const { agentId, sessionKey, spec } = run
    const { message, name, deliver, wakeMode } = spec
    return {
      action: 'agent',
      agentId,
      sessionKey,
      message,
      name,
      deliver: deliver !== null,
      channel: deliver?.channel,
      to: deliver?.to,
      accountId: deliver?.accountId,
      threadId: deliver?.threadId,
      wakeMode,
      ...(await preview.run(run)),
    }
  }
}

const viewWake = ({ agentId, sessionKey, text, mode }: NewEvent): object => ({
  action: 'wake',
  agentId,
  sessionKey,
  text,
  mode,
})

function matchedBy(mapping: Mapping | undefined): string {
  if (!mapping) return 'endpoint'
  if (mapping.path === undefined) return mapping.source === undefined ? 'any' : 'source'
  return mapping.source === undefined ? 'path' : 'path-and-source'
}

/** How it was proven when it came: its signature itself is not kept. */
const givenBy = ({ result }: StoredRequest): object =>
  result.replayOf === undefined ? { given: result.authentication ?? { scheme: 'hook-token' } } : {}
