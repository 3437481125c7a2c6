// Resolves the origin of a run that a tool starts: who started it, from where its text came, and through how many
// sessions the work came.
import type { Sender } from '../delivery/tool-delivery.ts'
import { InputError } from '../plugin/plugin.ts'
import { authorOf, joinProvenance, joinTurn, type Provenance } from '../store/provenance.ts'
import type { Initiator, Origin } from '../store/run-spec.ts'
import { type AuditSource, rootOf, type Store } from '../store/store.ts'
import type { ToolCall } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { settleProvenance } from './turn-provenance.ts'

/** The caller of a tool. */
export type Caller = Pick<ToolCall, 'subject' | 'runId' | 'source' | 'trace' | 'sources'>

/** Who acts with a tool: the client that calls it, or the agent. */
export const sourceOf = ({ subject, runId, source }: Caller): AuditSource =>
  source ?? { actor: { kind: 'agent', name: subject.agentId, runId }, via: 'tool' }

/** The sender of messages that the caller has a tool send. Only clients over HTTP name a channel in headers. */
export function createSender({ subject, runId }: Caller): Sender {
  const { caller, sessionKey, channel, accountId } = subject
  return { sessionKey, runId, ...(caller === 'http' && { channel, accountId }) }
}

/** The fields of a run's origin that follow from its caller. */
export type InheritedOrigin = Pick<
  Origin,
  'trusted' | 'keepContent' | 'viaHook' | 'stranger' | 'initiators' | 'scopes' | 'depth' | 'root' | 'provenance'
>

interface OriginDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
}

/** How often sessions may hand work on. Without a limit, two sessions could write to each other forever. */
const maxHandOffs = 6

export async function inheritOrigin({ store }: OriginDeps, caller: Caller): Promise<InheritedOrigin> {
  const { subject, runId } = caller
  const run = runId === undefined ? undefined : await store.getRun(runId)
  const provenance = await writtenBy(store, caller)
  const viaHook = provenance.outside.length > 0 || subject.fromHook === true
  const initiators = [createInitiator(subject), ...(subject.initiators ?? [])]
  if (initiators.length > maxHandOffs)
    throw new InputError(`This work was already handed on ${maxHandOffs} times; finish it here.`)
  const root = run && rootOf(run.spec.origin)
  const depth = run?.spec.origin.depth ?? (subject.sessionKey.includes(':subagent:') ? 1 : 0)
  return {
    trusted: !viaHook,
    initiators,
    provenance,
    ...(run?.spec.origin.keepContent === false && { keepContent: false }),
    ...(viaHook && { viaHook }),
    ...(run?.spec.origin.stranger && { stranger: true }),
    ...(subject.scopes && { scopes: subject.scopes }),
    ...(depth > 0 && { depth }),
    ...(root && { root }),
  }
}

/** Of what a tool writes for its caller. A client over HTTP writes its own text, and an agent what it has read. */
export async function writtenBy(
  store: Pick<Store, 'getExposure'>,
  { subject, sources }: Pick<Caller, 'subject' | 'sources'>,
): Promise<Provenance> {
  const author: Provenance = { outside: [], authors: [authorOf(subject)], isPrivate: false }
  if (!sources) return { ...author, isPrivate: true }
  const read = await settleProvenance(store, { ...sources, subject: () => subject })
  return joinProvenance(author, joinTurn(read))
}

const createInitiator = ({
  caller,
  agentId,
  sessionKey,
  model,
  channel,
  accountId,
  client,
  sender,
}: Subject): Initiator => ({
  caller,
  agentId,
  sessionKey,
  model,
  channel,
  accountId,
  client,
  sender,
})
