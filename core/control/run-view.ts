// A run in the form that the API returns: its schema, and how it is made of what is stored.
import { joinTurn, type TurnProvenance } from '../store/provenance.ts'
import type { ExplainNarrowing, NarrowedTurn } from '../tools/explain-narrowing.ts'
import { nameAuthor } from '../tools/narrow.ts'
import { type Initiator, isFromPerson, type Origin, runKinds, runStatuses } from '../store/run-spec.ts'
import type { ListedRun, StoredDelivery, SubagentUsage, ToolError } from '../store/store.ts'
import { traceIdOf } from '../telemetry/trace-context.ts'
import { type Static, Type } from '../typebox.ts'
import { content, sessionKey } from './content.ts'
import { iso, Time } from './lists.ts'
import { UsageFields, UsageOfSubagents, viewSubagents, viewUsage } from './usage-view.ts'

const Delivery = Type.Object({
  id: Type.String(),
  channel: Type.String(),
  to: Type.String(),
  status: Type.Enum(['pending', 'sent', 'failed', 'unknown', 'skipped']),
  reason: Type.Optional(Type.String()),
})

/** The schema of a run. */
export const Run = Type.Object({
  id: Type.String(),
  traceId: Type.Optional(Type.String({ description: 'The id of its trace, if traces were on when it was accepted.' })),
  kind: Type.Enum([...runKinds], { description: 'What started the run.' }),
  agentId: Type.String(),
  sessionKey: Type.String(sessionKey),
  model: Type.Optional(
    Type.String({ description: 'The model that executed the run. Before that, the requested model, if any.' }),
  ),
  status: Type.Enum([...runStatuses], {
    description: '`waiting`: a person must approve a tool call. The last four statuses are final.',
  }),
  origin: Type.Object(
    {
      kind: Type.Enum([...runKinds]),
      name: Type.String(sessionKey),
      mapping: Type.Optional(Type.String()),
      trusted: Type.Boolean(),
      client: Type.Optional(
        Type.String({ description: "The client that started it, unless it was the gateway's own credential." }),
      ),
      auth: Type.Optional(
        Type.Enum(['token', 'signed'], {
          description: 'How the sender of the webhook was authenticated: by the hook token, or by a signature.',
        }),
      ),
      viaHook: Type.Optional(
        Type.Boolean({
          description: "True: the run of a webhook, or of a stranger's message, started it with a tool.",
        }),
      ),
      stranger: Type.Optional(
        Type.Boolean({ description: 'True: a stranger on a channel started it, directly or through other runs.' }),
      ),
      root: Type.Optional(
        Type.Object(
          { kind: Type.Enum([...runKinds]), name: Type.String(), mapping: Type.Optional(Type.String()) },
          { description: 'The webhook or channel that the work goes back to, if another run started it.' },
        ),
      ),
      depth: Type.Optional(Type.Integer({ minimum: 1, description: 'The nesting depth of a subagent run.' })),
    },
    { description: 'What the run originates from.' },
  ),
  name: Type.Optional(Type.String(content)),
  reply: Type.Optional(Type.String(content)),
  error: Type.Optional(
    Type.Object(
      { type: Type.String(), message: Type.String(), detail: Type.Optional(Type.String(content)) },
      { description: 'Why there is no reply. For a run that has not ended: why its last attempt failed.' },
    ),
  ),
  usage: Type.Optional(UsageFields),
  subagents: Type.Optional(UsageOfSubagents),
  parentRunId: Type.Optional(Type.String({ description: 'The run whose tool started it.' })),
  toolErrors: Type.Optional(
    Type.Array(Type.Object({ tool: Type.String(), message: Type.String() }), {
      description: 'What tools threw, at most 20. The agent reads none of it.',
      ...content,
    }),
  ),
  provenance: Type.Optional(
    Type.Object(
      {
        outside: Type.Array(Type.String(), {
          description: 'The sources of texts from outside, such as `webhook github` or `the tool web_fetch`.',
        }),
        authors: Type.Array(Type.String(), {
          description:
            'The agents, groups and clients that wrote some of it. The turn may do no more than each of them.',
        }),
        isPrivate: Type.Boolean({ description: 'True: a person wrote some of it, or a tool read private data.' }),
        explanation: Type.Optional(
          Type.String({
            description: 'Which texts take tools away from the turn, and how to lift that. Absent: none do.',
          }),
        ),
      },
      { description: 'Where what the turn has read came from. Absent: the run had no turn.' },
    ),
  ),
  requestId: Type.Optional(Type.String({ description: 'The webhook request that started the run.' })),
  retryOf: Type.Optional(Type.String({ description: 'The failed run that this run retries.' })),
  retriedAs: Type.Optional(Type.String({ description: 'The run that retries this one.' })),
  deliveries: Type.Array(Delivery, { description: 'The deliveries of the reply.' }),
  createdAt: Time(),
  queuedMs: Type.Optional(
    Type.Integer({ description: 'Milliseconds from its acceptance to the start of its first attempt.' }),
  ),
  attempts: Type.Array(
    Type.Object({
      startedAt: Time(),
      endedAt: Type.Optional(Time()),
      reason: Type.Optional(
        Type.String({
          description:
            'Why it did not end the run. `interrupted`: the gateway ended. `stopped`: the gateway was stopped. ' +
            '`waiting`: it waited for an approval. Else the error of its model.',
        }),
      ),
    }),
    { description: 'The attempts, oldest first.' },
  ),
  startedAt: Type.Optional(Time('When the latest attempt started.')),
  nextAttemptAt: Type.Optional(
    Time('When the run is tried again after a transient failure of its model, or when its budget opens.'),
  ),
  waitingFor: Type.Optional(Type.String({ description: 'The key of the budget that the run waits for.' })),
  endedAt: Type.Optional(Time()),
})
export type Run = Static<typeof Run>

interface RunDetails {
  explainNarrowing: ExplainNarrowing
  /** Only read for the record of a single run, as are the errors of its tools. */
  subagents?: SubagentUsage
  toolErrors?: readonly ToolError[]
}

export function viewRun(
  run: Omit<ListedRun, 'seq'>,
  deliveries: readonly Omit<StoredDelivery, 'seq'>[],
  { explainNarrowing, subagents, toolErrors }: RunDetails,
): Run {
  const { id, kind, agentId, sessionKey, status, spec, result } = run
  return {
    id,
    ...(spec.trace && { traceId: traceIdOf(spec.trace) }),
    kind,
    agentId,
    sessionKey,
    model: result.model ?? spec.model,
    status,
    origin: viewOrigin(spec.origin),
    name: spec.name,
    reply: result.reply,
    error: result.error,
    usage: result.usage && viewUsage(result.usage),
    ...(subagents && subagents.runs > 0 && { subagents: viewSubagents(subagents) }),
    ...(toolErrors && toolErrors.length > 0 && { toolErrors: [...toolErrors] }),
    ...(result.provenance && { provenance: viewProvenance(run, result.provenance, explainNarrowing) }),
    parentRunId: spec.parentRunId,
    requestId: spec.requestId,
    retryOf: spec.retryOf,
    retriedAs: result.retriedAs,
    deliveries: deliveries.map(viewDelivery),
    createdAt: iso(run.createdAt),
    ...viewAttempts(run),
    ...(run.startedAt !== null && { startedAt: iso(run.startedAt) }),
    ...(status === 'queued' && result.retry && { nextAttemptAt: iso(result.retry.nextAt) }),
    ...(status === 'queued' &&
      run.waiting && { nextAttemptAt: iso(run.waiting.until), waitingFor: run.waiting.budget }),
    ...(run.endedAt !== null && { endedAt: iso(run.endedAt) }),
  }
}

type ProvenanceView = NonNullable<Run['provenance']>
type RunOfTexts = Pick<ListedRun, 'agentId' | 'sessionKey' | 'spec'>

function viewProvenance(run: RunOfTexts, turn: TurnProvenance, explainNarrowing: ExplainNarrowing): ProvenanceView {
  const { outside, authors, isPrivate } = joinTurn(turn)
  const explanation = explainNarrowing(describeTurn(run, { outside, authors }))
  return {
    outside: [...outside],
    authors: authors.map(nameAuthor),
    isPrivate,
    ...(explanation !== undefined && { explanation }),
  }
}

function describeTurn(
  { agentId, sessionKey, spec: { origin } }: RunOfTexts,
  { outside, authors }: Pick<TurnProvenance['own'], 'outside' | 'authors'>,
): NarrowedTurn {
  const { client, initiators = [], kind } = origin
  const starter: Initiator = { caller: 'agent', agentId, sessionKey, client }
  const own = new Set([starter, ...initiators].map(nameAuthor))
  const isPerson = isFromPerson(origin)
  return {
    agentId,
    starter: (isPerson && (kind === 'chat' || kind === 'channel')) || kind === 'heartbeat' ? kind : 'other',
    texts: { outside, authors: authors.filter((author) => !own.has(nameAuthor(author))) },
  }
}

/** Without the sessions and callers of other agents that it goes back to, which only the policy needs. */
const viewOrigin = ({
  kind,
  name,
  mapping,
  trusted,
  client,
  auth,
  viaHook,
  stranger,
  root,
  depth,
}: Origin): Run['origin'] => ({
  kind,
  name,
  mapping,
  trusted,
  client,
  auth,
  viaHook,
  stranger,
  root,
  depth,
})

function viewAttempts(run: Omit<ListedRun, 'seq'>): Pick<Run, 'queuedMs' | 'attempts'> {
  const { attempts, createdAt, startedAt, endedAt, status } = run
  const earlier = attempts.map((attempt) => ({
    startedAt: iso(attempt.startedAt),
    endedAt: iso(attempt.endedAt),
    reason: attempt.reason,
  }))
  // A run that is queued or waits has no attempt but the earlier ones.
  const isLatest =
    startedAt !== null && status !== 'queued' && status !== 'waiting' && attempts.at(-1)?.startedAt !== startedAt
  const latest = isLatest ? [{ startedAt: iso(startedAt), ...(endedAt !== null && { endedAt: iso(endedAt) }) }] : []
  const firstStart = attempts[0]?.startedAt ?? startedAt
  // Two gateways whose clocks differ a little, or a clock that was set back, may have said the times.
  const queued = firstStart !== null && { queuedMs: Math.max(0, firstStart - createdAt) }
  return { attempts: [...earlier, ...latest], ...queued }
}

function viewDelivery({ id, channel, to, status, reason }: Omit<StoredDelivery, 'seq'>): Run['deliveries'][number] {
  return { id, channel, to, status: status === 'sending' ? 'pending' : status, ...(reason !== null && { reason }) }
}
