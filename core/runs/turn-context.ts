// Reads from the store what a run's turn starts with. Waits while the store is unavailable.
import type { Agents } from '../agents/agents.ts'
import { type HistoryLimits, trimHistory } from '../agents/history.ts'
import { toPortable } from '../agents/portable-messages.ts'
import { eventBatch } from '../agents/prompt.ts'
import type { PlannedRun } from '../agents/turn-plan.ts'
import type { Config } from '../config/schema/schema.ts'
import type { Json } from '../plugin/plugin.ts'
import { readConversationStart } from '../sessions/conversation-start.ts'
import { readTranscript } from '../sessions/transcript.ts'
import { joinProvenance, joinTurn, noProvenance, type Provenance, unknownProvenance } from '../store/provenance.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type {
  Step,
  Store,
  StoredApproval,
  StoredEvent,
  StoredRun,
  StoredTranscriptEntry,
  Timestamp,
} from '../store/store.ts'
import { untilAborted } from '../deadline.ts'

const storeRetryMs = 1_000

export interface TurnContext {
  events: readonly StoredEvent[]
  history: readonly Json[]
  /** The steps of earlier attempts. */
  steps: readonly Step[]
  /** The approvals of their calls, oldest first. */
  approvals: readonly StoredApproval[]
  sources: Pick<PlannedRun, 'seen' | 'read' | 'isLifted'>
  /** Of the texts that were new in the turns of the history. */
  direct: Provenance
}

interface TurnContextDeps {
  config: Pick<Config, 'gateway'>
  store: Store
  agents: Agents
  /** The time of the store. */
  now(): Timestamp
}

export async function readTurnContext(
  deps: TurnContextDeps,
  run: StoredRun,
  signal: AbortSignal,
): Promise<TurnContext> {
  const { store, agents, now } = deps
  const { history: limits } = agents.get(run.agentId)
  const read = async (): Promise<TurnContext> => {
    const batch = run.kind === 'heartbeat' ? { ...eventBatch, refusedUntil: now() } : eventBatch
    const events = await store.claimEvents(run, run.sessionKey, batch)
    const { messages, seen, direct } = await readHistory(store, run.sessionKey, limits)
    const steps = run.steps > 0 ? await store.readSteps(run.id) : []
    const approvals = steps.length > 0 ? await store.readRunApprovals(run.id) : []
    const read = steps.length > 0 ? (await store.getExposure(run.id))?.provenance : undefined
    const sources = {
      seen,
      // The model reads the steps of earlier attempts again, and why calls were denied.
      read: joinProvenance(read ?? noProvenance, ...approvals.map((one) => writtenByApprover(deps.config, one))),
      isLifted: approvals.some(({ status, forTurn }) => status === 'approved' && forTurn),
    }
    // Another model may have written them.
    return { events, history: toPortable(messages, 'past'), steps, approvals, sources, direct }
  }
  return await waitForStore(read, signal)
}

interface History {
  messages: readonly Json[]
  /** Of all that the messages may repeat: what was new in their turns, and what those turns saw of the ones before. */
  seen: Provenance
  /** Of what was new in their turns. Later turns see of a text what the turns that saw it directly may repeat. */
  direct: Provenance
}

/** The messages of a session that its next turn reads, and where their texts came from. */
export async function readHistory(
  store: Pick<Store, 'listTranscript' | 'getState'>,
  sessionKey: string,
  limits: HistoryLimits,
): Promise<History> {
  const stored = await readTranscript(store, sessionKey, limits.turns * 20)
  const start = await readConversationStart(store, sessionKey)
  const current = stored.filter(({ runId }) => runId >= start)
  const messages = trimHistory(
    current.map(({ message }) => message),
    limits,
  )
  // The messages of a run share their provenance.
  const entries = [...new Map(newestTurns(current, countTurns(messages)).map((entry) => [entry.runId, entry])).values()]
  const direct = joinProvenance(...entries.map(({ provenance }) => provenance?.own ?? unknownProvenance))
  return { messages, seen: joinEntries(entries), direct }
}

/** Of messages of a transcript. */
export const joinEntries = (entries: readonly Pick<StoredTranscriptEntry, 'provenance'>[]): Provenance =>
  joinProvenance(...entries.map(({ provenance }) => (provenance ? joinTurn(provenance) : unknownProvenance)))

/** Of the reason of a denial. Whoever is no client of the configuration is the operator, or is listed as an approver. */
function writtenByApprover(
  { gateway }: TurnContextDeps['config'],
  { agentId, answeredBy, reason }: StoredApproval,
): Provenance {
  const client = reason === null ? undefined : gateway.auth.clients.find(({ name }) => name === answeredBy?.id)?.name
  const author = { caller: 'agent', agentId, sessionKey: `agent:${agentId}`, client } as const
  return client === undefined ? noProvenance : { outside: [], authors: [author], isPrivate: false }
}

const isTurnStart = (message: Json): boolean => (message as { role?: Json } | null)?.role === 'user'

const countTurns = (messages: readonly Json[]): number => messages.filter(isTurnStart).length

function newestTurns(entries: readonly StoredTranscriptEntry[], count: number): readonly StoredTranscriptEntry[] {
  const starts = entries.flatMap(({ message }, index) => (isTurnStart(message) ? [index] : []))
  return count === 0 ? [] : entries.slice(starts.at(-count))
}

export const recordPrivateRead = (store: Store, scope: string) =>
  store.useEffects({ scopes: [scope], effects: ['reads-private'], force: true })

/** Waiting is safe here: nothing that could fail has begun. */
export const waitForStore = <Result>(operation: () => Promise<Result>, signal: AbortSignal): Promise<Result> =>
  untilAborted(retryUntilStored(operation, { everyMs: storeRetryMs, isGivenUp: () => signal.aborted }), signal)
