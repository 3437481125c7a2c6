// The runs that this process works on: starts them, cancels them, renews their leases, and lets them finish at a stop.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '../../errors.ts'
import type { Log } from '../../plugin.ts'
import type { RunRetry, Store, StoredRun } from '../../store/store.ts'
import type { Attempt } from '../attempt.ts'
import { type AttemptResult, Stopped } from '../attempt-result.ts'

export interface ActiveRuns {
  count(): number
  ids(): string[]
  start(run: StoredRun): void
  /** Returns false if the run is not active. */
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
  /** Called when the process has room for another run. */
  onSettled(): void
  leaseMs: number
  log: Log
}

interface ActiveRun {
  run: StoredRun
  stop: AbortController
  done: Promise<void>
}

export function createActiveRuns(deps: ActiveRunsDeps): ActiveRuns {
  const active = new Map<string, ActiveRun>()
  return {
    count: () => active.size,
    ids: () => [...active.keys()],
    start: (run) => {
      const stop = new AbortController()
      const done = executeRun(deps, run, stop).finally(() => {
        active.delete(run.id)
        deps.onSettled()
      })
      active.set(run.id, { run, stop, done })
    },
    cancel: (id) => {
      const running = active.get(id)
      running?.stop.abort(new Stopped('cancelled'))
      return running !== undefined
    },
    renewLeases: async () => {
      for (const { run, stop } of active.values()) {
        const isRenewed = await deps.store.renewRun(run, Date.now() + deps.leaseMs)
        if (!isRenewed && active.has(run.id)) stop.abort(new Stopped('lost'))
      }
    },
    close: async (ms) => {
      const all = Promise.all([...active.values()].map(({ done }) => done))
      await Promise.race([all, delay(ms, undefined, { ref: false })])
      for (const { stop } of active.values()) stop.abort(new Stopped('stopping'))
      await all
    },
  }
}

async function executeRun(deps: ActiveRunsDeps, run: StoredRun, stop: AbortController): Promise<void> {
  try {
    const ended = await deps.attempt(run, stop)
    if ('retry' in ended) await deps.onRetry(run, ended.retry)
    else await deps.onResult(run, ended)
  } catch (error) {
    if (!(error instanceof Stopped)) deps.log.error({ runId: run.id, ...describeError(error) }, 'could not end a run')
    else if (error.reason === 'stopping') await deps.store.releaseRun(run).catch(() => undefined)
  }
}
