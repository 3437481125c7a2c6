// What the log says of a run that has ended: how, how long it took, and why its reply can go nowhere. No text of anybody.
import type { Log } from '../plugin.ts'
import type { RunEnd, RunRetry, StoredRun } from '../store/store.ts'

export function logRetry(log: Log, { id: runId, kind, agentId }: StoredRun, { notBefore, result: { error, retry } }: RunRetry): void {
  log.warn(
    { runId, kind, agentId, reason: error?.message, attempts: retry?.count, nextAttemptAt: new Date(notBefore).toISOString() },
    'run will be tried again',
  )
}

export function logRunEnd(log: Log, run: StoredRun, { status, at, messages }: RunEnd): void {
  const { id: runId, kind, agentId } = run
  log.info({ runId, kind, agentId, status, ms: at - (run.startedAt ?? run.createdAt) }, 'run ended')
  for (const { channel, status: fate, reason } of messages) if (fate === 'failed') log.warn({ runId, channel, reason }, 'reply not delivered')
}
