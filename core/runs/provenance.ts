// Where a run comes from that a tool starts: who stands behind it, whether a webhook does, and how far from all of them
// it is.
import { InputError } from '../plugin.ts'
import { isFromHook, type Origin, type Initiator } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import type { ToolCall } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { beganOutside, type ExposureDeps } from '../agents/exposure.ts'

/** Who calls. */
export type Caller = Pick<ToolCall, 'subject' | 'runId' | 'onExternalContent'>

/** What the origin of a run takes over from whoever starts it. */
export type Provenance = Pick<Origin, 'trusted' | 'viaHook' | 'initiators' | 'scopes' | 'depth'>

interface LineageDeps extends ExposureDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
}

/** How often work is handed on before it must end: two sessions cannot write to each other for ever. */
const longestLine = 6

export async function resolveProvenance(deps: LineageDeps, { subject, runId }: Caller): Promise<Provenance> {
  const run = runId === undefined ? undefined : await deps.store.getRun(runId)
  const scopes = subject.scopes ?? (await scopesOverHttp(deps, subject))
  const viaHook =
    scopes !== undefined || subject.fromHook === true || (run !== undefined && isFromHook(run.spec.origin))
  const initiators = [initiatorOf(subject), ...(subject.initiators ?? [])]
  if (initiators.length > longestLine)
    throw new InputError(`This work was handed on ${longestLine} times already; finish it here.`)
  const depth = run?.spec.origin.depth ?? (subject.sessionKey.includes(':subagent:') ? 1 : 0)
  return {
    trusted: !viaHook,
    initiators,
    ...(viaHook && { viaHook }),
    ...(scopes && { scopes }),
    ...(depth > 0 && { depth }),
  }
}

/**
 * A client is not bound by the rule, but what it starts for a session that is has no more freedom than that session.
 */
async function scopesOverHttp(deps: LineageDeps, { caller, sessionKey }: Subject): Promise<string[] | undefined> {
  return caller === 'http' && (await beganOutside(deps, sessionKey)) ? [sessionKey] : undefined
}

const initiatorOf = ({ caller, agentId, sessionKey, model, channel, accountId }: Subject): Initiator => ({
  caller,
  agentId,
  sessionKey,
  model,
  channel,
  accountId,
})
