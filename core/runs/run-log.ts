// Logs retries and ends of runs. The entries hold no text of messages or replies.
import type { Log } from '../plugin/plugin.ts'
import type { RunEnd, RunRetry, StoredRun } from '../store/store.ts'
import { traceIdOf } from '../telemetry/trace-context.ts'

export function logRetry(log: Log, run: StoredRun, { notBefore, result: { error, retry } }: RunRetry): void {
  log.warn(
    {
      ...createRunFields(run),
      reason: error?.message,
      attempts: retry?.count,
      nextAttemptAt: new Date(notBefore).toISOString(),
    },
    'run will be tried again',
  )
}

export function logRunEnd(log: Log, run: StoredRun, { status, at, deliveries, result: { error } }: RunEnd): void {
  const fields = { ...createRunFields(run), status, ms: Math.max(0, at - (run.startedAt ?? run.createdAt)) }
  if (status === 'failed' || status === 'timed_out')
    log.warn({ ...fields, type: error?.type, reason: error?.message }, 'run failed')
  else log.info(fields, 'run ended')
  for (const { channel, status: deliveryStatus, reason } of deliveries)
    if (deliveryStatus === 'failed') log.warn({ ...identifyRun(run), channel, reason }, 'reply not delivered')
}

/** The fields that each line about a run has. */
export const identifyRun = ({ id: runId, spec: { trace } }: Pick<StoredRun, 'id' | 'spec'>): object => ({
  runId,
  ...(trace && { traceId: traceIdOf(trace) }),
})

/** Identifies the run, and the webhook that started it. */
function createRunFields(run: StoredRun): object {
  const { kind, agentId, spec } = run
  const { origin } = spec
  return {
    ...identifyRun(run),
    kind,
    agentId,
    ...(origin.kind === 'hook' && { hook: origin.name }),
    ...(origin.mapping !== undefined && { mapping: origin.mapping }),
  }
}
