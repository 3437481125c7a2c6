// Dry runs: shows what a stored request would become. Nothing is stored, started or sent.
import type { Preview } from '../runs/preview.ts'
import type { ActionPreview } from '../runs/turn-preview.ts'
import type { NewEvent, NewRun, StoredRequest } from '../store/store.ts'
import type { Mapping } from './mapping.ts'
import type { PlannedRequest } from './pipeline.ts'

interface DryRunRequest {
  request: StoredRequest
  /** Whether the operator named the mapping. */
  isChosen: boolean
}

export function createDryRun(preview: Preview): (planned: PlannedRequest, asked: DryRunRequest) => Promise<object> {
  return async ({ plan, mapping, skippedBy }, { request, isChosen }) => {
    const { events = [], runs = [] } = plan?.work ?? {}
    return {
      ok: true,
      dryRun: true,
      ...(mapping && { mapping: mapping.id }),
      matchedBy: isChosen ? 'request' : matchedBy(mapping),
      auth: { scheme: mapping?.verifier?.scheme ?? 'hook-token', ...givenAuth(request) },
      actions: [...events.map(viewEvent), ...(await Promise.all(runs.map(viewRun)))],
      ...(skippedBy && { skippedBy }),
      ...(events.length > 0 && { heartbeat: await preview.heartbeat(events) }),
    }
  }

  async function viewRun(run: NewRun): Promise<ActionPreview> {
    const { agentId, sessionKey } = run
    const { origin: _origin, deliver, ...fields } = run.spec
    return {
      action: 'agent',
      agentId,
      sessionKey,
      ...fields,
      ...deliver,
      deliver: deliver !== null,
      ...(await preview.run(run)),
    }
  }
}

const viewEvent = ({ agentId, sessionKey, text, mode }: NewEvent): ActionPreview => ({
  action: 'wake',
  agentId,
  sessionKey,
  text,
  mode,
})

function matchedBy(mapping: Mapping | undefined): string {
  if (!mapping) return 'endpoint'
  if (mapping.path === undefined && mapping.source === undefined) return mapping.matches ? 'conditions' : 'any'
  if (mapping.path === undefined) return 'source'
  return mapping.source === undefined ? 'path' : 'path-and-source'
}

/** How the request was authenticated when it came. The signature itself is not stored. */
const givenAuth = ({ result }: StoredRequest): object =>
  result.replayOf === undefined ? { given: result.authentication ?? { scheme: 'hook-token' } } : {}
