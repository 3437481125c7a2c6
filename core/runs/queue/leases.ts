// Renews the leases of active runs, and recovers runs whose process has died, at regular intervals.
import { createOutage } from '../../outage.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { Store } from '../../store/store.ts'
import type { ActiveRuns } from './active-runs.ts'
import { createCancelledResult, createErrorResult } from '../attempt-result.ts'
import type { Completion } from './completion.ts'
import type { QueueLimit } from './queue-limit.ts'

export interface LeaseUpkeep {
  /** Recovers runs whose lease has expired. Returns how many of them are queued again. */
  recoverExpired(): Promise<number>
  start(): void
  close(): void
}

interface LeaseUpkeepDeps {
  store: Pick<Store, 'recoverExpiredRuns' | 'purgeExpiredKeys'>
  active: ActiveRuns
  queue: QueueLimit
  completion: Completion
  onRequeued(): void
  /** Called after each round. */
  onMaintained(): void
  everyMs: number
  log: Log
}

const expiryCheckMs = 1_000

export function createLeaseUpkeep(deps: LeaseUpkeepDeps): LeaseUpkeep {
  const { store, active, queue, everyMs, log } = deps
  let timer: NodeJS.Timeout | undefined
  let expiry: NodeJS.Timeout | undefined
  const outage = createOutage(log, {
    failed: 'upkeep of runs failed; it is tried again',
    worked: 'upkeep of runs works again',
  })
  const recoverExpired = () => recoverExpiredRuns(deps)
  const maintain = async (): Promise<void> => {
    await active.renewLeases()
    await recoverExpired()
    deps.onMaintained()
    await queue.recount()
    await store.purgeExpiredKeys(Date.now())
  }
  return {
    recoverExpired,
    start: () => {
      timer = setInterval(() => void maintain().then(() => void outage.worked(), outage.failed), everyMs).unref()
      expiry = setInterval(active.stopExpired, expiryCheckMs).unref()
    },
    close: () => {
      clearInterval(timer)
      clearInterval(expiry)
    },
  }
}

async function recoverExpiredRuns({ store, queue, completion, onRequeued }: LeaseUpkeepDeps): Promise<number> {
  const { queued, exhausted } = await store.recoverExpiredRuns(Date.now())
  queue.add(queued)
  if (queued > 0) onRequeued()
  for (const run of exhausted) {
    const times = run.attempt - run.lastProgress
    const message = `The gateway stopped during the run, ${times} times in a row; it is not tried again.`
    const failed = createErrorResult('failed', { type: 'interrupted', message })
    await completion.complete(run, run.isCancelled ? createCancelledResult() : failed)
  }
  return queued
}
