// The runs that this process works on: starts them, cancels them, renews their leases, and lets them finish at a stop.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { BudgetWait, RunRetry, Store, StoredRun } from '../../store/store.ts'
import type { Attempt } from '../attempt.ts'
import { type AttemptResult, resolveErrorResult, Stopped } from '../attempt-result.ts'
import { identifyRun } from '../run-log.ts'

export interface ActiveRuns {
  count(): number
  ids(): string[]
  /** `leasedAt`: when the run was claimed, at the latest, in monotonic milliseconds. */
  start(run: StoredRun, leasedAt: number): void
  /** In a shared store: stops runs whose lease could not be renewed, because another gateway may have them now. */
  stopExpired(): void
  /** Stops a run that was cancelled. Returns false if it is not active. */
  cancel(id: string): boolean
  renewLeases(): Promise<void>
  /** Lets the runs finish for `ms` milliseconds, then stops the rest and puts them back into the queue. */
  close(ms: number): Promise<void>
}

interface ActiveRunsDeps {
  store: Pick<Store, 'renewRun' | 'releaseRun'>
  attempt: Attempt
  onResult(run: StoredRun, result: AttemptResult): Promise<void>
  onRetry(run: StoredRun, retry: RunRetry): Promise<void>
  onWait(run: StoredRun, wait: BudgetWait): Promise<void>
  onSuspended(run: StoredRun): Promise<void>
  /** Called for a run that was cancelled when it had returned to the queue. */
  onCancelled(id: string): Promise<unknown>
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
  done: Promise<void>
}

export function createActiveRuns(deps: ActiveRunsDeps): ActiveRuns {
  const active = new Map<string, ActiveRun>()
  return {
    count: () => active.size,
    ids: () => [...active.keys()],
    start: (run, leasedAt) => {
      const stop = new AbortController()
      if (run.isCancelled) stop.abort(new Stopped('cancelled'))
      const done = executeRun(deps, { run, stop }).finally(() => {
        active.delete(run.id)
        deps.onSettled()
      })
      active.set(run.id, { run, stop, done, leasedUntil: leasedAt + deps.leaseMs })
    },
    cancel: (id) => {
      const running = active.get(id)
      running?.stop.abort(new Stopped('cancelled'))
      return running !== undefined
    },
    renewLeases: async () => {
      const renew = async (running: ActiveRun): Promise<void> => {
        const { run, stop } = running
        const sentAt = performance.now()
        const state = await deps.store.renewRun(run, Date.now() + deps.leaseMs)
        if (state !== 'lost') running.leasedUntil = sentAt + deps.leaseMs
        if (state !== 'renewed' && active.has(run.id)) stop.abort(new Stopped(state))
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

async function executeRun(deps: ActiveRunsDeps, { run, stop }: Pick<ActiveRun, 'run' | 'stop'>): Promise<void> {
  try {
    const ended = await deps.attempt(run, stop)
    if ('retry' in ended) await deps.onRetry(run, ended.retry)
    else if ('wait' in ended) await deps.onWait(run, ended.wait)
    else if ('isSuspended' in ended) await deps.onSuspended(run)
    else return await deps.onResult(run, ended)
    if (isCancelled(stop.signal)) await deps.onCancelled(run.id)
  } catch (error) {
    if (!(error instanceof Stopped)) await endFailed(deps, run, error)
    else if (error.reason === 'stopping') await deps.store.releaseRun(run, Date.now()).catch(() => undefined)
  }
}

/**
 * Ends a run whose result could not be stored for a reason that another attempt would meet again, such as a text that
 * the database refuses. Otherwise its lease would expire, and it would count as interrupted.
 */
async function endFailed(deps: ActiveRunsDeps, run: StoredRun, error: unknown): Promise<void> {
  const { log } = deps
  log.error({ ...identifyRun(run), ...describeError(error) }, 'could not end a run')
  if (error instanceof GatewayError && error.code === 'store_unavailable') return
  const failed = resolveErrorResult(error, { run, timeoutSeconds: 0, log })
  await deps.onResult(run, failed).catch((again: unknown) => {
    log.error({ ...identifyRun(run), ...describeError(again) }, 'could not end a run')
  })
}
