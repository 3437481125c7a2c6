// Dry runs: shows what a stored request would become. Nothing is stored, started or sent.
import type { Preview } from '../runs/preview.ts'
import type { ActionPreview } from '../runs/turn-preview.ts'
import type { NewEvent, NewRun, StoredRequest } from '../store/store.ts'
import type { Mapping } from './mapping.ts'
import type { PlannedRequest } from './pipeline.ts'

interface DryRunRequest {
  request: Pick<StoredRequest, 'result'>
  /** Whether the operator named the mapping. */
  isChosen: boolean
}

/** What a planned request would start. */
export type DescribePlan = (planned: PlannedRequest) => Promise<object>

export function createDescribePlan(preview: Preview): DescribePlan {
  return async ({ plan, skippedBy }) => {
    const { events = [], runs = [] } = plan?.work ?? {}
    return {
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

export function createDryRun(
  describePlan: DescribePlan,
): (planned: PlannedRequest, asked: DryRunRequest) => Promise<object> {
  return async (planned, { request, isChosen }) => {
    const { mapping } = planned
    return {
      ok: true,
      dryRun: true,
      ...(mapping && { mapping: mapping.id }),
      matchedBy: isChosen ? 'request' : matchedBy(mapping),
      auth: { scheme: mapping?.verifier?.scheme ?? 'hook-token', ...givenAuth(request) },
      ...(await describePlan(planned)),
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
const givenAuth = ({ result }: Pick<StoredRequest, 'result'>): object =>
  result.replayOf === undefined ? { given: result.authentication ?? { scheme: 'hook-token' } } : {}
