// Resolves the provenance of a run that a tool starts: who started it, whether a webhook did, and through how many
// sessions the work came.
import type { Sender } from '../delivery/tool-delivery.ts'
import { InputError } from '../plugin/plugin.ts'
import { isFromHook, type Origin, type Initiator } from '../store/run-spec.ts'
import { type AuditSource, rootOf, type Store } from '../store/store.ts'
import type { ToolCall } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { isExternalSession, type ExposureDeps } from '../agents/exposure.ts'

/** The caller of a tool. */
export type Caller = Pick<ToolCall, 'subject' | 'runId' | 'source' | 'trace' | 'onExternalContent'>

/** Who acts with a tool: the client that calls it, or the agent. */
export const sourceOf = ({ subject, runId, source }: Caller): AuditSource =>
  source ?? { actor: { kind: 'agent', name: subject.agentId, runId }, via: 'tool' }

/** The sender of messages that the caller has a tool send. Only clients over HTTP name a channel in headers. */
export function createSender({ subject, runId }: Caller): Sender {
  const { caller, sessionKey, channel, accountId } = subject
  return { sessionKey, runId, ...(caller === 'http' && { channel, accountId }) }
}

/** The fields of a run's origin that follow from its caller. */
export type Provenance = Pick<
  Origin,
  'trusted' | 'keepContent' | 'viaHook' | 'initiators' | 'scopes' | 'depth' | 'root'
>

interface ProvenanceDeps extends ExposureDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
}

/** How often sessions may hand work on. Without a limit, two sessions could write to each other forever. */
const maxHandOffs = 6

export async function resolveProvenance(deps: ProvenanceDeps, { subject, runId }: Caller): Promise<Provenance> {
  const run = runId === undefined ? undefined : await deps.store.getRun(runId)
  const scopes = subject.scopes ?? (await resolveHttpScopes(deps, subject))
  const viaHook =
    scopes !== undefined || subject.fromHook === true || (run !== undefined && isFromHook(run.spec.origin))
  const initiators = [createInitiator(subject), ...(subject.initiators ?? [])]
  if (initiators.length > maxHandOffs)
    throw new InputError(`This work was already handed on ${maxHandOffs} times; finish it here.`)
  const root = run && rootOf(run.spec.origin)
  const depth = run?.spec.origin.depth ?? (subject.sessionKey.includes(':subagent:') ? 1 : 0)
  return {
    trusted: !viaHook,
    initiators,
    ...(run?.spec.origin.keepContent === false && { keepContent: false }),
    ...(viaHook && { viaHook }),
    ...(scopes && { scopes }),
    ...(depth > 0 && { depth }),
    ...(root && { root }),
  }
}

/**
 * The rule of two does not restrict HTTP clients. A run that a client starts for a session with external content is
 * restricted like that session.
 */
async function resolveHttpScopes(deps: ProvenanceDeps, { caller, sessionKey }: Subject): Promise<string[] | undefined> {
  return caller === 'http' && (await isExternalSession(deps, sessionKey)) ? [sessionKey] : undefined
}

const createInitiator = ({ caller, agentId, sessionKey, model, channel, accountId, client }: Subject): Initiator => ({
  caller,
  agentId,
  sessionKey,
  model,
  channel,
  accountId,
  client,
})
