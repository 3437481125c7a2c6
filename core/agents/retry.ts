// Plans when a run is tried again after its model failed for a transient reason.
import type { RunResult } from '../store/run-spec.ts'
import type { RunRetry, StoredRun } from '../store/store.ts'
import type { Agent } from './agents.ts'
import type { ModelError } from './model-error.ts'

type Retried = Pick<StoredRun, 'kind' | 'result'>
type ErrorRecord = NonNullable<RunResult['error']>

/** A run waits at least this long, even if its provider works again at once. */
const minDelayMs = 1_000

interface RetryOptions {
  policy: Agent['retry']
  /** True: the model has answered in this attempt, so that this failure begins a new outage. */
  hasAnswered: boolean
}

/** Returns undefined if the run is not tried again. The events of a heartbeat wait for the next heartbeat instead. */
export function planRetry(
  { kind, result }: Retried,
  error: ModelError,
  { policy, hasAnswered }: RetryOptions,
): RunRetry | undefined {
  if (!error.isTransient || kind === 'heartbeat') return undefined
  const now = Date.now()
  const { since = now, count = 0 } = (!hasAnswered && result.retry) || {}
  const delayMs = computeDelayMs(count, error, policy)
  const notBefore = Math.ceil(now + delayMs)
  const earliestAt = Math.ceil(now + Math.min(delayMs, Math.max(error.retryAfterMs ?? 0, minDelayMs)))
  if (notBefore > since + policy.forSeconds * 1000) return undefined
  return {
    notBefore,
    provider: error.provider,
    aside: !policy.blockSession,
    result: {
      error: createErrorRecord(error),
      retry: { since, count: count + 1, nextAt: notBefore, earliestAt },
    },
  }
}

/**
 * How long a run waits for its agent, or on a shared store for its starter: it may have been removed by mistake, or this
 * gateway is yet to be updated.
 */
const missingMs = 10 * 60_000
const missingDelayMs = 5_000

/** Returns undefined if the run whose agent or starter is not in the configuration is not tried again. */
export function planMissing({ kind, result }: Retried, error: ErrorRecord): RunRetry | undefined {
  const now = Date.now()
  const { since = now, count = 0 } = result.retry ?? {}
  const notBefore = now + missingDelayMs
  if (kind === 'heartbeat' || notBefore > since + missingMs) return undefined
  return {
    notBefore,
    provider: null,
    aside: false,
    result: { error, retry: { since, count: count + 1, nextAt: notBefore, earliestAt: notBefore } },
  }
}

/**
 * Exponential backoff with jitter, so that runs that failed together are not retried together. Never shorter than the
 * service asks for.
 */
function computeDelayMs(
  count: number,
  { retryAfterMs = 0 }: ModelError,
  { initialDelaySeconds, maxDelaySeconds }: Agent['retry'],
): number {
  const maxDelayMs = Math.min(maxDelaySeconds, initialDelaySeconds * 2 ** Math.min(count, 30)) * 1000
  return Math.max(retryAfterMs, maxDelayMs / 2) + (Math.random() * maxDelayMs) / 2
}

/** The error of a run that is not tried again. It says how often, and for how long, the run was tried. */
export function withTries({ result: { retry } }: Pick<StoredRun, 'result'>, error: ErrorRecord): ErrorRecord {
  if (!retry) return error
  const duration = formatDuration(Date.now() - retry.since)
  return { ...error, message: `${error.message} The run was tried ${retry.count + 1} times in ${duration}.` }
}

export const createErrorRecord = ({ code, message, detail }: ModelError): ErrorRecord => ({
  type: code,
  message,
  detail,
})

function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
}
