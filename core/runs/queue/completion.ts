// Stores how runs end and notifies everyone concerned: the log, the heartbeat, the outbox, and callers that wait.
import type { Log } from '../../plugin/plugin.ts'
import type { Events } from '../../sessions/events.ts'
import { retryUntilStored } from '../../store/retry-until-stored.ts'
import type { AuditedChange, BudgetWait, RunEnd, RunRetry, Store, StoredRun } from '../../store/store.ts'
import { type AttemptResult, createCancelledResult, createOverdueResult } from '../attempt-result.ts'
import type { Outcome } from '../outcome.ts'
import { logRunEnd } from '../run-log.ts'
import type { Waiters } from './waiters.ts'

export interface Completion {
  /**
   * Stores the end of a run. The work is done, so this waits as long as the store is unavailable. It gives up only when
   * the gateway stops or the lease is lost.
   */
  complete(run: StoredRun, result: AttemptResult): Promise<void>
  /** Puts a run back into the queue. Returns false if that was not stored: then another claim recovers the run. */
  postpone(run: StoredRun, retry: RunRetry): Promise<boolean>
  /** Puts a run back into the queue, where it waits for a budget. Returns false if that was not stored. */
  wait(run: StoredRun, wait: BudgetWait): Promise<boolean>
  /** Lets a run wait for its approvals. Returns its status then; undefined if that was not stored, as for `postpone`. */
  suspend(run: StoredRun): Promise<'waiting' | 'queued' | undefined>
  /** Returns false if no queued or waiting run has this id. */
  cancelQueued(id: string, audit?: AuditedChange): Promise<boolean>
  /** Ends a queued run whose time is over. Returns false if it is not queued any more. */
  endOverdue(id: string): Promise<boolean>
}

interface CompletionDeps {
  store: Store
  events: Events
  outcome: Outcome
  waiters: Waiters
  onDeliveries: () => void
  /** Called when the end of a run is stored. */
  onEnd?: ((run: StoredRun, end: RunEnd) => void) | undefined
  isClosing: () => boolean
  retryMs: number
  log: Log
}

export function createCompletion(deps: CompletionDeps): Completion {
  const { store, events, outcome, waiters, onDeliveries, isClosing, retryMs, log } = deps
  const patience = { everyMs: retryMs, isGivenUp: isClosing }

  const publish = (run: StoredRun, end: RunEnd): void => {
    logRunEnd(log, run, end)
    deps.onEnd?.(run, end)
    events.announce(end.events)
    if (end.alert || end.notices?.length || end.deliveries.some((delivery) => delivery.status === 'pending'))
      onDeliveries()
    waiters.notify({ ...run, status: end.status, result: end.result, endedAt: end.at })
  }

  const endIdle = async (run: StoredRun, result: AttemptResult, audit?: AuditedChange): Promise<boolean> => {
    const end = { ...(await outcome.resolve(run, result)), audit }
    if (!(await store.endQueuedRun(run.id, end))) return false
    publish(run, end)
    return true
  }

  return {
    complete: async (run, result) => {
      const end = await retryUntilStored(() => outcome.resolve(run, result), patience)
      if (await retryUntilStored(() => store.endRun(run, end), patience)) publish(run, end)
    },
    postpone: (run, retry) => retryUntilStored(() => store.releaseRun(run, Date.now(), retry), patience),
    wait: ({ id, fencingToken }, wait) =>
      retryUntilStored(() => store.postponeRun({ id, fencingToken }, wait), patience),
    suspend: (run) => retryUntilStored(() => store.suspendRun(run, Date.now()), patience),
    cancelQueued: async (id, audit) => {
      const run = await store.getRun(id)
      const isIdle = run?.status === 'queued' || run?.status === 'waiting'
      return isIdle && (await endIdle(run, createCancelledResult(), audit))
    },
    endOverdue: async (id) => {
      const run = await store.getRun(id)
      return run?.status === 'queued' && (await endIdle(run, createOverdueResult(run)))
    },
  }
}
