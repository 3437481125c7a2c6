// One attempt at a run: takes the waiting events, renders the prompt, has the turn, all within the run's time.
import type { Config } from '../config/schema.ts'
import { describeError, GatewayError } from '../errors.ts'
import type { Json, Log } from '../plugin.ts'
import { countSuspicious } from '../sessions/external-content.ts'
import { readTranscript } from '../sessions/transcript.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type { RunResult } from '../store/run-spec.ts'
import type { RunRetry, Store, StoredEvent, StoredRun } from '../store/store.ts'
import { untilAborted } from '../tools/deadline.ts'
import type { Policy } from '../tools/policy.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import type { ReplyStreams } from '../agents/reply-stream.ts'
import { beganOutside, beginsWithPrivate, readOutside } from '../agents/exposure.ts'
import { boundHistory } from '../agents/history.ts'
import { ModelError } from '../agents/model-error.ts'
import type { Models } from '../agents/models.ts'
import type { Ended } from './outcome.ts'
import { eventBatch, heartbeatNotes } from '../agents/prompt.ts'
import { givenUp, planRetry } from '../agents/retry.ts'
import { logRetry } from './run-log.ts'
import type { RunTurn } from '../agents/turn.ts'
import { modelOf, type PlannedRun, planTurn } from '../agents/turn-plan.ts'

const storeRetryMs = 1_000

/** Why a run's signal aborts. */
export type StopReason = 'timed_out' | 'cancelled' | 'stopping' | 'lost'

export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly reason: StopReason

  constructor(reason: StopReason) {
    super(reason)
    this.reason = reason
  }
}

interface AttemptDeps {
  config: Config
  store: Store
  agents: Agents
  models: Models
  policy: Pick<Policy, 'listed'>
  runTurn: RunTurn
  replyStreams: Pick<ReplyStreams, 'of'>
  log: Log
}

/** Runs one attempt; throws `Stopped` when the gateway stops or the run is no longer ours. */
export type Attempt = (run: StoredRun, stop: AbortController) => Promise<Ended | Postponed>

/** An attempt that failed for a passing reason: the run is tried again. */
export interface Postponed {
  retry: RunRetry
}

export function createAttempt(deps: AttemptDeps): Attempt {
  return async (run, stop) => {
    const agent = deps.agents.get(run.agentId)
    const seconds = run.spec.timeoutSeconds ?? agent.timeoutSeconds
    let deadline: NodeJS.Timeout | undefined
    try {
      const session = await readSession(deps, run, stop.signal)
      // The run's time begins here: a store that is away is not the run's fault.
      deadline = setTimeout(() => stop.abort(new Stopped('timed_out')), seconds * 1000)
      return await haveTurn(deps, { run, agent, session, signal: stop.signal })
    } catch (error) {
      const reason = stop.signal.aborted ? stop.signal.reason : error
      const retry = reason instanceof ModelError ? planRetry(run, reason, agent.retry) : undefined
      if (!retry) {
        const ended = endOf(reason, { run, seconds, log: deps.log })
        return { ...ended, result: { ...ended.result, ...modelFor(deps.models, run, agent) } }
      }
      logRetry(deps.log, run, retry)
      return { retry }
    } finally {
      clearTimeout(deadline)
    }
  }
}

/** Which model a run failed with; nothing where it asks for one that it may not use. */
function modelFor(models: Models, run: StoredRun, agent: Agent): Pick<RunResult, 'model'> {
  try {
    return { model: modelOf(models, run, agent).ref }
  } catch {
    return {}
  }
}

/** What a turn of the session begins with. */
interface Session {
  events: readonly StoredEvent[]
  history: readonly Json[]
  exposure: Pick<PlannedRun, 'beganOutside' | 'readOutside'>
}

async function readSession(deps: AttemptDeps, run: StoredRun, signal: AbortSignal): Promise<Session> {
  const { config, store } = deps
  const { historyTurns: turns, historyTokens: tokens } = config.session
  const read = async (): Promise<Session> => {
    const events = await store.claimEvents(run, run.sessionKey, eventBatch)
    const stored = await readTranscript(store, run.sessionKey, turns * 20)
    const messages = stored.map((entry) => entry.message)
    const exposure = {
      beganOutside: await beganOutside(deps, run.sessionKey),
      readOutside: await readOutside(store, run),
    }
    return { events, history: boundHistory(messages, { turns, tokens }), exposure }
  }
  return await whenStoreAnswers(read, signal)
}

/** Waits for as long as the store is away: nothing has begun that could fail. */
const whenStoreAnswers = <Result>(ask: () => Promise<Result>, signal: AbortSignal): Promise<Result> =>
  untilAborted(retryUntilStored(ask, { everyMs: storeRetryMs, isGivenUp: () => signal.aborted }), signal)

interface Turn {
  run: StoredRun
  agent: Agent
  session: Session
  signal: AbortSignal
}

async function haveTurn(deps: AttemptDeps, { run, agent, session, signal }: Turn): Promise<Ended> {
  const { runTurn, replyStreams, log } = deps
  const { events, history, exposure } = session
  const { spec } = run
  const notes = run.kind === 'heartbeat' ? await heartbeatNotes(agent, run.sessionKey) : undefined
  if (run.kind === 'heartbeat' && events.length === 0 && !notes)
    return { status: 'succeeded', result: {}, transcript: [], eventsRendered: false }
  logSuspicious(
    run,
    [
      ...(spec.origin.trusted ? [] : [spec.message]),
      ...events.filter(({ trusted }) => !trusted).map(({ text }) => text),
    ],
    log,
  )
  const plan = planTurn(deps, { run, agent, events, notes, ...exposure })
  const { fromHook: external = false, scopes: [scope] = [] } = plan.from
  let isExternal = external
  const countAsRead = (scope: string) =>
    deps.store.useEffects({ scopes: [scope], effects: ['reads-private'], force: true })
  const onExternalContent = async (): Promise<void> => {
    isExternal = true
    await countAsRead(run.id)
  }
  if (scope !== undefined) {
    const prepare = async (): Promise<void> =>
      void ((await beginsWithPrivate(deps.store, { run, scope })) && (await countAsRead(scope)))
    await whenStoreAnswers(prepare, signal)
  }
  const { progress } = run.result
  const turn = await runTurn({
    ...plan,
    history,
    runId: run.id,
    signal,
    progress,
    onDelta: replyStreams.of(run.id),
    onExternalContent,
  })
  // The steps were used up, and the last one had no words either.
  if (turn.finishReason === 'tool-calls' && !turn.reply) {
    const error = { type: 'no_answer', message: `The model gave no answer within ${turn.usage.steps} steps.` }
    return {
      status: 'failed',
      result: { model: plan.model.ref, usage: turn.usage, error },
      transcript: [],
      eventsRendered: false,
      external: isExternal,
    }
  }
  return {
    status: 'succeeded',
    result: { model: plan.model.ref, reply: turn.reply, usage: turn.usage },
    transcript: turn.messages.map((message) => ({ message })),
    eventsRendered: events.length > 0,
    external: isExternal,
  }
}

function logSuspicious(run: StoredRun, texts: readonly string[], log: Log): void {
  const count = texts.reduce((sum, text) => sum + countSuspicious(text), 0)
  if (count > 0) log.warn({ runId: run.id, count }, 'suspicious phrases in outside text')
}

const endWith = (status: Ended['status'], error: NonNullable<RunResult['error']>): Ended => ({
  status,
  result: { error },
  transcript: [],
  eventsRendered: false,
})

/** The end of a run that somebody has cancelled, under way or not. */
export const cancelled = endWith('cancelled', { type: 'cancelled', message: 'The run was cancelled.' })

function endOf(error: unknown, { run, seconds, log }: { run: StoredRun; seconds: number; log: Log }): Ended {
  if (error instanceof Stopped) {
    if (error.reason === 'timed_out')
      return endWith('timed_out', { type: 'timed_out', message: `The run was stopped after ${seconds} seconds.` })
    if (error.reason === 'cancelled') return cancelled
    throw error
  }
  if (!(error instanceof GatewayError)) {
    log.error({ runId: run.id, ...describeError(error) }, 'run failed inside the gateway')
    return endWith('failed', { type: 'internal_error', message: 'The run failed inside the gateway. See its log.' })
  }
  const record = error instanceof ModelError ? givenUp(run, error) : { type: error.code, message: error.message }
  return { ...endWith('failed', record), cause: error.message }
}
