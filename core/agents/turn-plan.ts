// Plans a run's turn without starting it. An attempt executes the plan, a dry run shows it.
import { authorOf, joinProvenance, noProvenance, type Provenance, type TurnProvenance } from '../store/provenance.ts'
import { isFromHook, isFromPerson } from '../store/run-spec.ts'
import type { NewRun, StoredEvent } from '../store/store.ts'
import { describedBy } from '../tools/external-texts.ts'
import { describeNarrowing } from '../tools/narrow.ts'
import type { Policy } from '../tools/policy.ts'
import type { Subject } from '../tools/subject.ts'
import type { Agent } from './agents.ts'
import type { HeartbeatNotes } from './heartbeat-prompt.ts'
import type { Model, Models } from './models.ts'
import { renderPrompt, renderSystemPrompt, type Restriction } from './prompt.ts'
import type { TurnInput } from './turn.ts'
import { subjectOfTurn, type TurnRights } from '../tools/turn-sources.ts'

/** A run, and what its turn starts with. */
export interface PlannedRun {
  run: Pick<NewRun, 'id' | 'kind' | 'sessionKey' | 'spec'>
  agent: Agent
  /** The events that this turn renders. */
  events: readonly StoredEvent[]
  notes?: HeartbeatNotes | undefined
  /** Of the earlier messages that the turn reads. */
  seen: Provenance
  /** Of what tools have returned in earlier attempts. */
  read?: Provenance | undefined
  /** True: a person has accepted, for this turn, what its texts would take away. */
  isLifted?: boolean
}

export interface PlanDeps {
  models: Models
  policy: Pick<Policy, 'listed' | 'judge' | 'isTrusted'>
  /** Whether somebody can be asked to approve a call of this agent. */
  canAsk(agentId: string): boolean
  /** False: turns that a person starts are narrowed by the rule of two alone. */
  narrowsChats: boolean
}

export interface TurnPlan extends Pick<TurnInput, 'agent' | 'model' | 'thinking' | 'system' | 'prompt' | 'sessionKey'> {
  rights: TurnRights
  /** What the turn begins with, without what tools have returned in earlier attempts. */
  visible: TurnProvenance
  /** What the operator, and people if they have started the turn, say that it is to do. No text from outside is in it. */
  tasks: readonly string[]
}

/** Throws `invalid_request` if the run asks for a model that it may not use. */
export const resolveRunModel = (models: Models, { kind, spec }: PlannedRun['run'], agent: Agent): TurnInput['model'] =>
  kind === 'hook' && spec.model
    ? models.resolveRequested(spec.model, agent)
    : models.resolve(spec.model ?? agent.model, agent)

/** Throws `invalid_request` if the run asks for a model that it may not use. */
export function planTurn(deps: PlanDeps, planned: PlannedRun): TurnPlan {
  const { run, agent, events, notes, seen, read = noProvenance } = planned
  const { sessionKey, spec } = run
  const model = resolveRunModel(deps.models, run, agent)
  const rights = resolveRights(deps, planned, model)
  const tools = describedBy(deps.policy, rights.starter)
  const visible = { own: joinProvenance(...ownProvenances(planned, rights.starter), tools), seen }
  const subject = subjectOfTurn(rights, { own: joinProvenance(visible.own, read), seen })
  return {
    agent,
    model,
    thinking: spec.thinking ?? agent.thinking,
    system: renderSystemPrompt(agent, findRestriction(deps.policy, subject)),
    prompt: renderPrompt({ spec, events, notes: notes?.text }),
    sessionKey,
    rights,
    visible,
    tasks: listTasks(planned, rights.starter),
  }
}

/** Who starts the turn, and what happens to calls that its texts forbid. */
function resolveRights(
  { canAsk, narrowsChats }: PlanDeps,
  { run: { id, sessionKey, spec }, agent, isLifted = false }: PlannedRun,
  model: Model,
): TurnRights {
  const { origin, deliver } = spec
  const { client, sender, initiators, scopes } = origin
  const starter: Subject = {
    caller: 'agent',
    agentId: agent.id,
    sessionKey,
    model: model.ref,
    ...(origin.kind === 'channel' && { channel: origin.name, accountId: deliver?.accountId }),
    fromHook: isFromHook(origin),
    scopes,
    client,
    sender,
    initiators,
  }
  const isPerson = isFromPerson(origin)
  // Whoever chats with the gateway itself sees there that a call waits.
  const mode = isPerson && (origin.kind === 'chat' || canAsk(agent.id)) ? 'ask' : 'deny'
  return { starter, scope: id, mode, narrows: narrowsChats || !isPerson, isLifted }
}

function listTasks({ run: { spec }, agent, notes }: PlannedRun, starter: Subject): string[] {
  const isInside = (provenance = noProvenance) => provenance.outside.length === 0
  return [
    agent.systemPrompt ?? '',
    ...(isInside(taskProvenance(spec.origin, starter)) ? [spec.message] : []),
    ...(notes && isInside(notes.provenance) ? [notes.text] : []),
  ]
}

/** Of the task, the events and the notes. */
function ownProvenances({ run: { spec }, events, notes }: PlannedRun, starter: Subject): Provenance[] {
  return [taskProvenance(spec.origin, starter), ...events.map(eventProvenance), notes?.provenance ?? noProvenance]
}

function taskProvenance(origin: PlannedRun['run']['spec']['origin'], starter: Subject): Provenance {
  const { kind, name, provenance, trusted, viaHook, stranger } = origin
  if (isFromPerson(origin))
    return joinProvenance({ outside: [], authors: [authorOf(starter)], isPrivate: true }, provenance ?? noProvenance)
  if (kind === 'hook') return { outside: [`webhook ${name}`], authors: [], isPrivate: false }
  if (kind === 'channel' && stranger)
    return joinProvenance(
      { outside: [`a stranger on ${name}`], authors: [], isPrivate: false },
      provenance ?? noProvenance,
    )
  if (kind === 'heartbeat') return noProvenance
  const isOutside = !provenance && (viaHook || !trusted)
  return provenance ?? { outside: isOutside ? [`${kind} ${name}`] : [], authors: [], isPrivate: true }
}

const eventProvenance = ({ provenance, trusted, source }: StoredEvent): Provenance =>
  provenance ?? { outside: trusted ? [] : [source], authors: [], isPrivate: trusted }

/** What the prompt says of the tools that the texts take away. A webhook's own run is always restricted. */
function findRestriction(policy: PlanDeps['policy'], subject: Subject): Restriction | undefined {
  const { narrowing, isLifted, ...starter } = subject
  if (!narrowing || isLifted || subject.fromHook) return undefined
  if (narrowing.outside.length + narrowing.authors.length === 0) return undefined
  const names = policy
    .listed(starter)
    .map(({ tool }) => tool.name)
    .filter((name) => policy.judge(subject, name).isNarrowed)
  return {
    mode: narrowing.mode,
    because: describeNarrowing(narrowing),
    tools: names,
    isExternal: subject.scopes !== undefined,
  }
}
