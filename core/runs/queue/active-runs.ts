// The runs that this process works on: starts them, cancels them, renews their leases, and lets them finish at a stop.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { AuditedChange, BudgetWait, RunRetry, Store, StoredRun } from '../../store/store.ts'
import type { Attempt } from '../attempt.ts'
import { type AttemptResult, Stopped } from '../attempt-result.ts'
import { identifyRun } from '../run-log.ts'

export interface ActiveRuns {
  count(): number
  ids(): string[]
  /** `leasedAt`: when the run was claimed, at the latest, in monotonic milliseconds. */
  start(run: StoredRun, leasedAt: number): void
  /** In a shared store: stops runs whose lease could not be renewed, because another gateway may have them now. */
  stopExpired(): void
  /** Returns false if the run is not active. `audit` is stored with its end. */
  cancel(id: string, audit?: AuditedChange): boolean
  renewLeases(): Promise<void>
  /** Lets the runs finish for `ms` milliseconds, then stops the rest and puts them back into the queue. */
  close(ms: number): Promise<void>
}

interface ActiveRunsDeps {
  store: Pick<Store, 'renewRun' | 'releaseRun'>
  attempt: Attempt
  onResult(run: StoredRun, result: AttemptResult, audit: AuditedChange | undefined): Promise<void>
  onRetry(run: StoredRun, retry: RunRetry): Promise<void>
  onWait(run: StoredRun, wait: BudgetWait): Promise<void>
  /** @param cancellation says whether the run was cancelled in the meantime, and by whom */
  onSuspended(run: StoredRun, cancellation: () => { audit: AuditedChange | undefined } | undefined): Promise<void>
  /** Called when the process has room for another run. */
  onSettled(): void
  leaseMs: number
  /** True: another gateway recovers a run whose lease has expired. */
  isShared: boolean
  log: Log
}

/** A run is stopped this long before its lease expires, so that it has stopped by then. */
const leaseMarginMs = 2_000

interface ActiveRun {
  run: StoredRun
  /** When the lease expires, in monotonic milliseconds. */
  leasedUntil: number
  stop: AbortController
  /** Who cancelled it. */
  audit?: AuditedChange | undefined
  done: Promise<void>
}

export function createActiveRuns(deps: ActiveRunsDeps): ActiveRuns {
  const active = new Map<string, ActiveRun>()
  return {
    count: () => active.size,
    ids: () => [...active.keys()],
    start: (run, leasedAt) => {
      const stop = new AbortController()
      const auditOf = () => active.get(run.id)?.audit
      const done = executeRun(deps, { run, stop, auditOf }).finally(() => {
        active.delete(run.id)
        deps.onSettled()
      })
      active.set(run.id, { run, stop, done, leasedUntil: leasedAt + deps.leaseMs })
    },
    cancel: (id, audit) => {
      const running = active.get(id)
      if (running) running.audit ??= audit
      running?.stop.abort(new Stopped('cancelled'))
      return running !== undefined
    },
    renewLeases: async () => {
      const renew = async (running: ActiveRun): Promise<void> => {
        const { run, stop } = running
        const sentAt = performance.now()
        const isRenewed = await deps.store.renewRun(run, Date.now() + deps.leaseMs)
        if (isRenewed) running.leasedUntil = sentAt + deps.leaseMs
        else if (active.has(run.id)) stop.abort(new Stopped('lost'))
      }
      const renewed = await Promise.allSettled(Array.from(active.values(), renew))
      const failed = renewed.find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
    },
    stopExpired: () => {
      if (!deps.isShared) return
      for (const { stop, leasedUntil } of active.values())
        if (performance.now() >= leasedUntil - leaseMarginMs) stop.abort(new Stopped('lost'))
    },
    close: async (ms) => {
      const all = Promise.all([...active.values()].map(({ done }) => done))
      await Promise.race([all, delay(ms, undefined, { ref: false })])
      for (const { stop } of active.values()) stop.abort(new Stopped('stopping'))
      await all
    },
  }
}

const isCancelled = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && reason instanceof Stopped && reason.reason === 'cancelled'

interface Execution extends Pick<ActiveRun, 'run' | 'stop'> {
  /** Who cancelled the run, if somebody did. */
  auditOf(): AuditedChange | undefined
}

async function executeRun(deps: ActiveRunsDeps, { run, stop, auditOf }: Execution): Promise<void> {
  try {
    const ended = await deps.attempt(run, stop)
    if ('retry' in ended) await deps.onRetry(run, ended.retry)
    else if ('wait' in ended) await deps.onWait(run, ended.wait)
    else if ('isSuspended' in ended)
      await deps.onSuspended(run, () => (isCancelled(stop.signal) ? { audit: auditOf() } : undefined))
    else await deps.onResult(run, ended, ended.status === 'cancelled' ? auditOf() : undefined)
  } catch (error) {
    if (!(error instanceof Stopped))
      deps.log.error({ ...identifyRun(run), ...describeError(error) }, 'could not end a run')
    else if (error.reason === 'stopping') await deps.store.releaseRun(run, Date.now()).catch(() => undefined)
  }
}
