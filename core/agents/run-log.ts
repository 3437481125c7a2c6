// What the log says of a run that has ended: how, how long it took, and why its reply can go nowhere. No text of anybody.
import type { Log } from '../plugin.ts'
import type { RunEnd, StoredRun } from '../store/store.ts'

export function logRunEnd(log: Log, run: StoredRun, { status, at, messages }: RunEnd): void {
  const { id: runId, kind, agentId } = run
  log.info({ runId, kind, agentId, status, ms: at - (run.startedAt ?? run.createdAt) }, 'run ended')
  for (const { channel, status: fate, reason } of messages) if (fate === 'failed') log.warn({ runId, channel, reason }, 'reply not delivered')
}
