// When a run whose model failed for a passing reason is tried again, and what its record says once that is given up.
import type { RunResult } from '../store/run-spec.ts'
import type { RunRetry, StoredRun } from '../store/store.ts'
import type { Agent } from './agents.ts'
import type { ModelError } from './model-error.ts'

type Retried = Pick<StoredRun, 'kind' | 'result'>

/** Undefined: the run is not tried again. A heartbeat comes again by itself, and its events wait meanwhile. */
export function planRetry({ kind, result }: Retried, error: ModelError, policy: Agent['retry']): RunRetry | undefined {
  if (!error.isPassing || kind === 'heartbeat') return undefined
  const now = Date.now()
  const { since = now, count = 0 } = result.retry ?? {}
  const notBefore = Math.ceil(now + delayMs(count, error, policy))
  if (notBefore > since + policy.forSeconds * 1000) return undefined
  // What an attempt before this one has done stays done.
  const progress = error.progress.length > 0 ? error.progress : result.progress
  return {
    notBefore,
    aside: !policy.blockSession,
    result: {
      error: recordOf(error),
      retry: { since, count: count + 1, nextAt: notBefore },
      ...(progress && { progress }),
    },
  }
}

/**
 * Exponential with jitter, so that runs that failed together do not come back together; never sooner than the service
 * asks.
 */
function delayMs(
  count: number,
  { retryAfterMs = 0 }: ModelError,
  { initialDelaySeconds, maxDelaySeconds }: Agent['retry'],
): number {
  const longest = Math.min(maxDelaySeconds, initialDelaySeconds * 2 ** Math.min(count, 30)) * 1000
  return Math.max(retryAfterMs, longest / 2) + (Math.random() * longest) / 2
}

/** The error of a run that failed for good: it says for how long the run was tried. */
export function givenUp({ result: { retry } }: Retried, error: ModelError): NonNullable<RunResult['error']> {
  const record = recordOf(error)
  if (!retry) return record
  return {
    ...record,
    message: `${record.message} The run was tried ${retry.count + 1} times in ${inWords(Date.now() - retry.since)}.`,
  }
}

const recordOf = ({ code, message, detail }: ModelError): NonNullable<RunResult['error']> => ({
  type: code,
  message,
  detail,
})

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
}
