// How an attempt at a run ends: with a result to store, with a retry, or stopped.
import { ModelError } from '../agents/model-error.ts'
import { createErrorRecord, withTries } from '../agents/retry.ts'
import { describeError, GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { TurnProvenance } from '../store/provenance.ts'
import type { RunResult } from '../store/run-spec.ts'
import type { BudgetWait, NewTranscriptEntry, RunEnd, RunRetry, Step, StoredRun } from '../store/store.ts'
import { identifyRun } from './run-log.ts'

/** The result of an attempt that ends its run. */
export interface AttemptResult {
  status: RunEnd['status']
  result: RunResult
  /** The messages that the turn adds to the transcript. */
  transcript: readonly NewTranscriptEntry[]
  eventsRendered: boolean
  /** True: the service of the model refused the prompt, maybe because of an event in it. */
  eventsRefused?: boolean | undefined
  /** The steps that are stored with the end of the run. */
  steps?: readonly Step[] | undefined
  /** Why the run failed, without the details that differ from run to run. */
  cause?: string | undefined
  /** Where all that the turn has read came from. The reply may repeat it. */
  provenance?: TurnProvenance | undefined
  /** What the transcript says of that. */
  kept?: TurnProvenance | undefined
}

/** An attempt that failed for a transient reason: the run goes back into the queue. */
export interface AttemptRetry {
  retry: RunRetry
}

/** An attempt at a run that has done nothing yet, and waits until a budget opens. */
export interface AttemptWait {
  wait: BudgetWait
}

/** An attempt that cannot go on before a person has answered. */
export interface AttemptSuspension {
  isSuspended: true
}

/** How an attempt ends. */
export type AttemptEnd = AttemptResult | AttemptRetry | AttemptWait | AttemptSuspension

/** Why a run's signal aborts. `lost`: the lease expired, and another process may have the run. */
export type StopReason = 'timed_out' | 'cancelled' | 'stopping' | 'lost'

export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly reason: StopReason

  constructor(reason: StopReason) {
    super(reason)
    this.reason = reason
  }
}

export const createErrorResult = (
  status: AttemptResult['status'],
  error: NonNullable<RunResult['error']>,
): AttemptResult => ({ status, result: { error }, transcript: [], eventsRendered: false })

export const createCancelledResult = (): AttemptResult =>
  createErrorResult('cancelled', { type: 'cancelled', message: 'The run was cancelled.' })

/** The time limit that was asked for was reached between two attempts. */
export function createOverdueResult(run: StoredRun): AttemptResult {
  const { error } = run.result
  const last = error ? ` The last attempt failed: ${error.message}` : ''
  const message = `The run was stopped after ${run.spec.timeoutSeconds} seconds.${last}`
  return createErrorResult('timed_out', withTries(run, { ...error, type: 'timed_out', message }))
}

interface FailedAttempt {
  run: StoredRun
  timeoutSeconds: number
  log: Log
}

/** Throws the error again if the gateway is stopping or has lost the run: the run then has no result yet. */
export function resolveErrorResult(error: unknown, { run, timeoutSeconds, log }: FailedAttempt): AttemptResult {
  if (error instanceof Stopped) {
    if (error.reason === 'timed_out') {
      const message = `The run was stopped after ${timeoutSeconds} seconds.`
      return createErrorResult('timed_out', withTries(run, { type: 'timed_out', message }))
    }
    if (error.reason === 'cancelled') return createCancelledResult()
    throw error
  }
  if (!(error instanceof GatewayError)) {
    log.error({ ...identifyRun(run), ...describeError(error) }, 'run failed inside the gateway')
    const message = 'The run failed inside the gateway. See its log.'
    return createErrorResult('failed', { type: 'internal_error', message })
  }
  const record =
    error instanceof ModelError
      ? withTries(run, createErrorRecord(error))
      : { type: error.code, message: error.message }
  return { ...createErrorResult('failed', record), cause: error.message }
}
