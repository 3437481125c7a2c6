// What the log says of a run that has ended: how, how long it took, and why its reply can go nowhere. No text of
// anybody.
import type { Log } from '../plugin.ts'
import type { RunEnd, RunRetry, StoredRun } from '../store/store.ts'

export function logRetry(log: Log, run: StoredRun, { notBefore, result: { error, retry } }: RunRetry): void {
  log.warn(
    {
      ...subjectOf(run),
      reason: error?.message,
      attempts: retry?.count,
      nextAttemptAt: new Date(notBefore).toISOString(),
    },
    'run will be tried again',
  )
}

export function logRunEnd(log: Log, run: StoredRun, { status, at, deliveries, result: { error } }: RunEnd): void {
  const fields = { ...subjectOf(run), status, ms: at - (run.startedAt ?? run.createdAt) }
  if (status === 'failed' || status === 'timed_out')
    log.warn({ ...fields, type: error?.type, reason: error?.message }, 'run failed')
  else log.info(fields, 'run ended')
  for (const { channel, status: fate, reason } of deliveries)
    if (fate === 'failed') log.warn({ runId: run.id, channel, reason }, 'reply not delivered')
}

/** Which run it is, and which webhook asked for it. */
function subjectOf({ id: runId, kind, agentId, spec: { origin } }: StoredRun): object {
  return {
    runId,
    kind,
    agentId,
    ...(origin.kind === 'hook' && { hook: origin.name }),
    ...(origin.mapping !== undefined && { mapping: origin.mapping }),
  }
}
