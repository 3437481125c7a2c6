// Checks what the running gateway has not finished: runs that are stuck, and deliveries that have failed.
import { commandLine } from '../../../config/file/locate.ts'
import { fieldsOf, listOf } from '../../../kit/shapes.ts'
import type { Finding } from '../finding.ts'
import type { ReadyConfig } from '../subject.ts'
import { withGateway } from './running.ts'

export const checkBacklog = withGateway(async ({ get }, { ready }) => {
  const [running, queued, failed, unknown] = await Promise.all([
    get('/api/runs?status=running&limit=200'),
    get('/api/runs?status=queued&limit=200'),
    get('/api/outbox?status=failed&limit=200'),
    get('/api/outbox?status=unknown&limit=200'),
  ])
  const runs = [...itemsOf(running), ...itemsOf(queued)] as unknown as Run[]
  return [
    ...findStuckRuns(runs, Date.now() - longestRunMs(ready)),
    ...findDeadDeliveries([...itemsOf(failed), ...itemsOf(unknown)] as unknown as Delivery[], Date.now()),
  ]
})

const itemsOf = (page: unknown): readonly unknown[] => listOf(fieldsOf(page)['items'])

interface Run {
  id: string
  status: string
  createdAt: string
  startedAt?: string
  nextAttemptAt?: string
}

const hourMs = 3_600_000

/** How long a run may take as configured, with its retries; at least an hour. A request may ask for more. */
function longestRunMs(ready: ReadyConfig | undefined): number {
  if (!ready) return hourMs
  const { agents, hooks } = ready.resolved.config
  const limits = [...Object.values(agents), ...hooks.mappings].map(({ timeoutSeconds = 0 }) => 2000 * timeoutSeconds)
  return Math.max(hourMs, ...limits)
}

/** A run that waits for its next attempt is not stuck. */
function findStuckRuns(runs: readonly Run[], before: number): Finding[] {
  const stuck = runs
    .filter(({ nextAttemptAt }) => nextAttemptAt === undefined || Date.parse(nextAttemptAt) < before)
    .filter(({ createdAt, startedAt = createdAt }) => Date.parse(startedAt) < before)
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  const [oldest] = stuck
  if (oldest === undefined) return []
  const { id, status, createdAt } = oldest
  const others = stuck.length > 1 ? `, and ${stuck.length - 1} more runs for too long` : ''
  return [
    {
      id: 'runs_stuck',
      severity: 'warning',
      where: `run ${id}`,
      problem: `The run ${id} has been ${status} since ${createdAt}${others}.`,
      fix: `Look at it with: ${commandLine(`runs show ${id}`)}; cancel it with: ${commandLine(`runs cancel ${id}`)}`,
    },
  ]
}

interface Delivery {
  id: string
  runId: string
  channel: string
  reason?: string
  createdAt: string
}

/** Older ones were probably noticed. */
const recentMs = 7 * 24 * hourMs

function findDeadDeliveries(deliveries: readonly Delivery[], now: number): Finding[] {
  const recent = deliveries
    .filter(({ createdAt }) => Date.parse(createdAt) > now - recentMs)
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
  const [newest] = recent
  if (newest === undefined) return []
  const { id, channel, runId, reason = 'no reason is known' } = newest
  const number = recent.length === 1 ? 'One delivery has' : `${recent.length} deliveries have`
  return [
    {
      id: 'deliveries_failed',
      severity: 'warning',
      where: `channels.${channel}`,
      problem: `${number} failed in the last 7 days; the newest, to ${channel}: ${reason.replace(/\.$/, '')}.`,
      fix: `Look at it with: ${commandLine(`runs show ${runId}`)}; repeat it with POST /api/outbox/${id}/retry.`,
    },
  ]
}
