// Reads from the store what a run's turn starts with. Waits while the store is unavailable.
import type { Agents } from '../agents/agents.ts'
import { hasReadExternalContent, isExternalSession, startsWithPrivateData } from '../agents/exposure.ts'
import { trimHistory } from '../agents/history.ts'
import { toPortable } from '../agents/portable-messages.ts'
import { eventBatch } from '../agents/prompt.ts'
import type { PlannedRun, TurnPlan } from '../agents/turn-plan.ts'
import type { Config } from '../config/schema/schema.ts'
import type { Json } from '../plugin/plugin.ts'
import { readConversationStart } from '../sessions/conversation-start.ts'
import { readTranscript } from '../sessions/transcript.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type { Step, Store, StoredApproval, StoredEvent, StoredRun, Timestamp } from '../store/store.ts'
import { untilAborted } from '../deadline.ts'

const storeRetryMs = 1_000

export interface TurnContext {
  events: readonly StoredEvent[]
  history: readonly Json[]
  /** The steps of earlier attempts. */
  steps: readonly Step[]
  /** The approvals of their calls, oldest first. */
  approvals: readonly StoredApproval[]
  exposure: Pick<PlannedRun, 'isExternalSession' | 'hasReadExternalContent'>
}

interface TurnContextDeps {
  config: Pick<Config, 'session'>
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
    const stored = await readTranscript(store, run.sessionKey, limits.turns * 20)
    const start = await readConversationStart(store, run.sessionKey)
    const messages = stored.filter(({ runId }) => runId >= start).map(({ message }) => message)
    const exposure = {
      isExternalSession: await isExternalSession(deps, run.sessionKey),
      hasReadExternalContent: await hasReadExternalContent(store, run),
    }
    const steps = run.steps > 0 ? await store.readSteps(run.id) : []
    const approvals = steps.length > 0 ? await store.readRunApprovals(run.id) : []
    // Another model may have written them.
    const history = toPortable(trimHistory(messages, limits), 'past')
    return { events, history, steps, approvals, exposure }
  }
  return await waitForStore(read, signal)
}

/** Counts a prompt that holds both external content and private data as a read of private data. */
export async function recordPrivatePrompt(
  store: Store,
  { run, plan, signal }: { run: StoredRun; plan: TurnPlan; signal: AbortSignal },
): Promise<void> {
  const [scope] = plan.from.scopes ?? []
  if (scope === undefined) return
  const record = async (): Promise<void> => {
    if (await startsWithPrivateData(store, { run, scope })) await recordPrivateRead(store, scope)
  }
  await waitForStore(record, signal)
}

export const recordPrivateRead = (store: Store, scope: string) =>
  store.useEffects({ scopes: [scope], effects: ['reads-private'], force: true })

/** Waiting is safe here: nothing that could fail has begun. */
export const waitForStore = <Result>(operation: () => Promise<Result>, signal: AbortSignal): Promise<Result> =>
  untilAborted(retryUntilStored(operation, { everyMs: storeRetryMs, isGivenUp: () => signal.aborted }), signal)
