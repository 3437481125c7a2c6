// Counts live runs, unsent deliveries and schedules with the partial indexes that hold only those rows.
import type { DeliveryStatus } from './tables/outbox.ts'
import type { Timestamp, Transaction } from './transaction.ts'

export const liveCountReads = { getLiveCounts }

/** Counts of live runs, of deliveries that were not sent, of approvals and of schedules. */
export interface LiveCounts {
  runs: { queued: number; running: number; waiting: number }
  deliveries: Record<Exclude<DeliveryStatus, 'sent' | 'skipped'>, number>
  /** Approvals that nobody has answered yet. */
  approvals: number
  /** `nextAt` is the time of the next firing; null when there are no schedules. */
  schedules: { count: number; nextAt: Timestamp | null }
}

const runsSql = `SELECT
  (SELECT count(*) FROM run WHERE status = 'queued') AS queued,
  (SELECT count(*) FROM run WHERE status = 'running') AS running,
  (SELECT count(*) FROM run WHERE status = 'waiting') AS waiting`

/** `status <> 'sent'` repeats the condition of the index. */
const countDeliveriesSql = (status: string) =>
  `(SELECT count(*) FROM outbox WHERE status <> 'sent' AND status = '${status}') AS ${status}`
const deliveriesSql = `SELECT ${['pending', 'sending', 'failed', 'unknown'].map(countDeliveriesSql).join(', ')}`

const approvalsSql = `SELECT count(*) AS waiting FROM approval WHERE status = 'waiting'`

/** A full scan: an agent has at most a hundred schedules. */
const schedulesSql = 'SELECT count(*) AS count, min(next_at) AS "nextAt" FROM schedule'

export async function getLiveCounts(tx: Transaction): Promise<LiveCounts> {
  const [runs = { queued: 0, running: 0, waiting: 0 }] = await tx.all<LiveCounts['runs']>(runsSql)
  const [deliveries = { pending: 0, sending: 0, failed: 0, unknown: 0 }] =
    await tx.all<LiveCounts['deliveries']>(deliveriesSql)
  const [schedules = { count: 0, nextAt: null }] = await tx.all<LiveCounts['schedules']>(schedulesSql)
  const [approvals = { waiting: 0 }] = await tx.all<{ waiting: number }>(approvalsSql)
  return { runs, deliveries, approvals: approvals.waiting, schedules }
}
