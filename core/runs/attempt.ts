// Makes one attempt at a run: reads the waiting events, plans the turn and executes it, within the run's time limit.
import type { Approvals } from '../approvals/approvals.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { readHeartbeatNotes } from '../agents/heartbeat-prompt.ts'
import { ModelError } from '../agents/model-error.ts'
import type { Models } from '../agents/models.ts'
import type { ReplyStreams } from '../agents/reply-stream.ts'
import { planMissing, planRetry, withTries } from '../agents/retry.ts'
import { createDeadline, createTimeLimit, type TimeLimit } from '../agents/time-limit.ts'
import { type RunTurn, SuspendedTurn, type TurnResult } from '../agents/turn.ts'
import { type PlanDeps, planTurn, resolveRunModel, type TurnPlan } from '../agents/turn-plan.ts'
import { sumUsage } from '../agents/usage.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { BudgetStop } from '../budgets/check.ts'
import type { Redactor } from '../config/redaction.ts'
import type { Config } from '../config/schema/schema.ts'
import { GatewayError } from '../errors.ts'
import type { Json, Log } from '../plugin/plugin.ts'
import { countSuspicious } from '../sessions/external-content.ts'
import type { RunResult, RunSpec } from '../store/run-spec.ts'
import type { Step, Store, StoredEvent, StoredRun } from '../store/store.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'
import type { FileSources } from '../tools/file-sources.ts'
import { createUnderWay } from '../under-way.ts'
import {
  type AttemptEnd,
  type AttemptResult,
  type AttemptRetry,
  type AttemptWait,
  createErrorResult,
  resolveErrorResult,
  Stopped,
} from './attempt-result.ts'
import { identifyRun, logRetry } from './run-log.ts'
import type { RunLimits } from './run-limits.ts'
import type { StarterRights } from './starter-rights.ts'
import { createStepApprovals } from './step-approvals.ts'
import { createStepRecorder, type StepRecorder } from './step-recorder.ts'
import { readTurnContext, type TurnContext, waitForStore } from './turn-context.ts'
import { openTurnSources, settleProvenance } from './turn-provenance.ts'

/** Makes one attempt. Throws `Stopped` if the gateway stops or the run's lease is lost. */
export type Attempt = (run: StoredRun, stop: AbortController) => Promise<AttemptEnd>

export interface Attempts {
  run: Attempt
  /** Resolves when no attempt is under way. */
  settled(): Promise<void>
}

interface AttemptDeps extends PlanDeps {
  config: Config
  store: Store
  agents: Agents
  files: Pick<FileSources, 'find'>
  budgets: Pick<Budgets, 'findStop'>
  starterRights: StarterRights
  /** True: other gateways on the store may have another configuration. */
  isShared: boolean
  /** The time of the store. */
  now(): number
  runTurn: RunTurn
  replyStreams: Pick<ReplyStreams, 'getListener'>
  /** Called with the provider whenever a model has answered. */
  onModelAnswer(provider: string): void
  approvals: Pick<Approvals, 'prepare' | 'describeEnd' | 'announce'>
  limits: RunLimits
  redactor: Pick<Redactor, 'text' | 'json'>
  /** Called when a step of a run begins or ends. */
  onStep(run: StoredRun, step: Step): void
  /** The span of a step, if the run is traced. Absent: traces are off. */
  traceOfStep?: ((run: StoredRun, number: number) => TraceContext | undefined) | undefined
  log: Log
}

export function createAttempts(deps: AttemptDeps): Attempts {
  const underWay = createUnderWay()
  return {
    run: (run, stop) => underWay.add(attemptRun(deps, run, stop).then((end) => redactError(end, deps.redactor))),
    settled: underWay.settled,
  }
}

/** The service of a model may quote its prompt in an error, and with it a secret of the configuration. */
function redactError(end: AttemptEnd, { text, json }: AttemptDeps['redactor']): AttemptEnd {
  const redactResult = ({ error, ...result }: RunResult): RunResult =>
    error ? { ...result, error: JSON.parse(json(JSON.stringify(error))) as typeof error } : result
  if ('retry' in end) return { retry: { ...end.retry, result: redactResult(end.retry.result) } }
  return 'result' in end ? { ...end, result: redactResult(end.result), cause: end.cause && text(end.cause) } : end
}

async function attemptRun(deps: AttemptDeps, run: StoredRun, stop: AbortController): Promise<AttemptEnd> {
  const { models, log } = deps
  const agent = deps.agents.find(run.agentId)
  if (!agent) return endWithoutAgent(run, log)
  const { timeoutSeconds = agent.timeoutSeconds } = run.spec
  const { store, redactor, now, onStep: publish } = deps
  const recorder = createStepRecorder(
    { store, redactJson: redactor.json, now, publish, onAsked: deps.approvals.announce },
    run,
    stop.signal,
  )
  const limit = createLimit(run, timeoutSeconds, () => stop.abort(new Stopped('timed_out')))
  try {
    stop.signal.throwIfAborted()
    const refused = await refuseStart(deps, run, stop.signal)
    if (refused) return refused
    const context = await readTurnContext(deps, run, stop.signal)
    recorder.resume(context.steps)
    // The time limit starts here, so that an unavailable store does not use up the run's time.
    limit.start()
    return await executeTurn(deps, { run, agent, context, recorder, limit, signal: stop.signal })
  } catch (error) {
    if (error instanceof SuspendedTurn) return { isSuspended: true }
    const reason = stop.signal.aborted ? stop.signal.reason : error
    // Once the run is released, its steps are stored no more.
    await recorder.settled()
    const failedStep = endModelStep(recorder, reason)
    if (failedStep) publish(run, failedStep)
    const hasAnswered = recorder.stored().length > run.steps
    const retry =
      reason instanceof ModelError ? planRetry(run, reason, { policy: agent.retry, hasAnswered }) : undefined
    if (retry) {
      logRetry(log, run, retry)
      return { retry }
    }
    const isOutOfTime = reason instanceof ModelError && limit.isReached()
    const failed = resolveErrorResult(isOutOfTime ? new Stopped('timed_out') : reason, { run, timeoutSeconds, log })
    const usage = sumUsage(recorder.stored())
    return {
      ...failed,
      steps: failedStep && [failedStep],
      eventsRefused: reason instanceof ModelError && reason.isRefusal && !hasAnswered && run.steps === 0,
      result: {
        ...failed.result,
        ...findModel(models, run, agent),
        ...(usage.steps > 0 && { usage }),
      },
    }
  } finally {
    limit.close()
  }
}

/**
 * A limit that was asked for bounds the run with all its attempts, the agent's each attempt. A run was claimed just now,
 * so what is left does not depend on the clock.
 */
const createLimit = ({ deadline, startedAt }: StoredRun, timeoutSeconds: number, onReached: () => void): TimeLimit =>
  deadline !== null && startedAt !== null
    ? createDeadline(deadline - startedAt, onReached)
    : createTimeLimit(timeoutSeconds * 1000, onReached)

/** The default agent must not do its work: it may be allowed more. */
function endWithoutAgent(run: StoredRun, log: Log): AttemptResult | AttemptRetry {
  const message = `The agent "${run.agentId}" is not in the configuration; add it, or cancel the run.`
  const error = { type: 'agent_removed', message }
  const retry = planMissing(run, error)
  if (!retry) return createErrorResult('failed', withTries(run, error))
  logRetry(log, run, retry)
  return { retry }
}

/**
 * Ends a run whose starter has lost the right to. Spares a run the rest of its attempt if a budget is used up: after a
 * storm of webhooks there are many.
 */
async function refuseStart(
  { budgets, starterRights, isShared, log }: Pick<AttemptDeps, 'budgets' | 'starterRights' | 'isShared' | 'log'>,
  run: StoredRun,
  signal: AbortSignal,
): Promise<AttemptResult | AttemptRetry | AttemptWait | undefined> {
  const loss = await waitForStore(() => starterRights.findLoss(run), signal)
  // Another gateway may already know of a starter that this one does not.
  const retry = loss && isShared ? planMissing(run, loss) : undefined
  if (retry) logRetry(log, run, retry)
  if (loss) return retry ? { retry } : createErrorResult('failed', loss)
  if (run.steps > 0) return undefined
  const stop = await waitForStore(() => budgets.findStop(run), signal)
  if (!stop) return undefined
  const { error, wait } = stop
  return wait ? { wait } : createErrorResult('failed', { type: error.code, message: error.message })
}

/** The call of the model in which the attempt failed. */
function endModelStep(recorder: StepRecorder, reason: unknown): Step | undefined {
  const step = recorder.current()
  if (step?.kind !== 'model') return undefined
  const [status, error] =
    reason instanceof ModelError ? (['failed', reason.message] as const) : (['interrupted', undefined] as const)
  return recorder.shorten({ ...step, status, endedAt: Date.now(), detail: { ...step.detail, error } })
}

/** The model of a failed run. Empty if the run asks for a model that it may not use. */
function findModel(models: Models, run: StoredRun, agent: Agent): Pick<RunResult, 'model'> {
  try {
    return { model: resolveRunModel(models, run, agent).ref }
  } catch {
    return {}
  }
}

interface TurnToExecute {
  run: StoredRun
  agent: Agent
  context: TurnContext
  recorder: StepRecorder
  limit: TimeLimit
  signal: AbortSignal
}

async function executeTurn(
  deps: AttemptDeps,
  { run, agent, context, recorder, limit, signal }: TurnToExecute,
): Promise<AttemptResult | AttemptWait> {
  const { store, runTurn, replyStreams, log } = deps
  const { events, history, steps } = context
  const isHeartbeat = run.kind === 'heartbeat'
  const notes = isHeartbeat ? await readHeartbeatNotes(deps, agent, run.sessionKey) : undefined
  if (isHeartbeat && events.length === 0 && !notes)
    return { status: 'succeeded', result: {}, transcript: [], eventsRendered: false }
  logSuspiciousPhrases(log, run, events)
  const plan = planTurn(deps, { run, agent, events, notes, ...context.sources })
  const sources = await openTurnSources(store, {
    plan,
    read: context.sources.read,
    isAwaited: repliesToOutsider(run.spec),
    signal,
  })
  let stop: BudgetStop | undefined
  const findLoss = () => waitForStore(() => deps.starterRights.findLoss(run), signal)
  const turn = await runTurn({
    ...plan,
    sources,
    history,
    runId: run.id,
    signal,
    modelCalls: {
      ...limit.modelCalls,
      answered: () => {
        limit.modelCalls.answered()
        deps.onModelAnswer(plan.model.provider)
      },
    },
    attempt: run.attempts.length + 1,
    traceOfStep: deps.traceOfStep && ((number) => deps.traceOfStep?.(run, number)),
    steps,
    findStop: async () => {
      const loss = await findLoss()
      if (loss) return loss
      stop = await waitForStore(() => deps.budgets.findStop(run), signal)
      return stop && { type: stop.error.code, message: stop.error.message }
    },
    authorize: async () => {
      const loss = await findLoss()
      if (loss) throw new GatewayError('forbidden', loss.message)
    },
    record: recorder.record,
    approvals: createStepApprovals(deps.approvals, { run, limits: deps.limits }, context.approvals),
    onModelStep: recorder.begin,
    onDelta: replyStreams.getListener(run.id),
  })
  if (stop?.wait && recorder.stored().length === 0) return { wait: stop.wait }
  const provenance = await waitForStore(() => settleProvenance(store, sources), signal)
  const stopped = turn.stopped ?? (await findLoss())
  const result = {
    ...createTurnResult({ plan, turn: { ...turn, ...(stopped && { stopped }) }, events, run }),
    provenance,
    kept: { own: provenance.own, seen: context.direct },
  }
  if (turn.lastStep === undefined) return result
  const lastStep = recorder.shorten(turn.lastStep)
  deps.onStep(run, lastStep)
  return { ...result, steps: [lastStep] }
}

/** Whether the reply goes to somebody who wrote the task and is no user of the gateway. */
const repliesToOutsider = ({ isAwaited, deliver, origin }: RunSpec): boolean =>
  (isAwaited === true && !origin.repliesToSender) || (origin.stranger === true && deliver !== null)

interface EndedTurn {
  plan: TurnPlan
  turn: TurnResult
  events: readonly StoredEvent[]
  run: Pick<StoredRun, 'kind' | 'spec'>
}

const shortenedNote =
  '[This conversation is longer than the model can read: it has read only the newest part, or none. /new begins a new ' +
  'one; a lower session.historyTokens avoids this.]'

function createTurnResult({ plan, turn, events, run: { kind, spec } }: EndedTurn): AttemptResult {
  const { reply, usage } = turn
  const model = plan.model.ref
  const transcript = turn.messages.map((message) => ({ message }))
  if (turn.stopped) {
    const result = { model, error: turn.stopped, ...(reply && { reply }), ...(usage.steps > 0 && { usage }) }
    const hasSpoken = usage.steps > 0
    return {
      status: 'failed',
      result,
      transcript: hasSpoken ? transcript : [],
      eventsRendered: hasSpoken && events.length > 0,
    }
  }
  const error = reply ? undefined : findNoReply(turn, spec.deliver !== null)
  if (error) {
    const result = { model, usage, error }
    // An event may be the reason. It must not stop the session.
    return { status: 'failed', result, transcript: [], eventsRendered: false, eventsRefused: usage.steps === 1 }
  }
  const isTold = turn.isShortened && (kind === 'channel' || kind === 'chat')
  return {
    status: 'succeeded',
    result: { model, reply: isTold ? `${reply}\n\n${shortenedNote}` : reply, usage },
    transcript,
    eventsRendered: events.length > 0,
  }
}

const noReplies: Readonly<Record<string, NonNullable<RunResult['error']> | undefined>> = {
  length: {
    type: 'answer_cut',
    message:
      'The model reached its output limit before it answered; raise maxOutputTokens of the agent, or lower its thinking.',
  },
  'content-filter': {
    type: 'answer_filtered',
    message: "The content filter of the model's service withheld the answer.",
  },
}

/** Why a turn without a reply has failed. Undefined if its tool calls were all that it had to do. */
function findNoReply({ finishReason, usage, messages }: TurnResult, isAwaited: boolean): RunResult['error'] {
  // The turn used all its steps, and the last one has no text either.
  if (finishReason === 'tool-calls')
    return { type: 'no_answer', message: `The model gave no answer within ${usage.steps} steps.` }
  const known = noReplies[finishReason]
  if (known) return known
  const hasWorked = messages.some((message) => (message as { role?: Json }).role === 'tool')
  if (!hasWorked) return { type: 'answer_empty', message: 'The model gave an empty answer.' }
  return isAwaited
    ? { type: 'answer_empty', message: 'The model called tools, and then gave an empty answer.' }
    : undefined
}

function logSuspiciousPhrases(log: Log, run: StoredRun, events: readonly StoredEvent[]): void {
  const { spec } = run
  const untrusted = events.filter(({ trusted }) => !trusted).map(({ text }) => text)
  if (!spec.origin.trusted) untrusted.push(spec.message)
  const count = untrusted.reduce((sum, text) => sum + countSuspicious(text), 0)
  if (count > 0) log.warn({ ...identifyRun(run), count }, 'suspicious phrases in outside text')
}
