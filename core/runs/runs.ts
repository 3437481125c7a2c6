// Accepted runs: on disk before the caller knows, one at a time per session, taken up again after a crash.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, GatewayError } from '../errors.ts'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import type { Events } from '../sessions/events.ts'
import { createPoller } from '../store/poller.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type { AcceptCommand, AcceptResult, RunEnd, RunRetry, Store, StoredRun } from '../store/store.ts'
import { type Attempt, cancelled, Stopped } from './attempt.ts'
import type { Ended, Outcome } from './outcome.ts'
import { logRunEnd } from './run-log.ts'
import { createWaiters } from './waiters.ts'

export interface Runs {
  /**
   * The waist: whatever comes in is stored here, all or nothing, and then set going. Throws `overloaded` when too many
   * runs wait.
   */
  accept(command: AcceptCommand): Promise<AcceptResult>
  /** The run once it has ended, or as it is after `ms`; undefined when there is none. */
  ended(id: string, ms: number): Promise<StoredRun | undefined>
  /** False: it has ended already, or is unknown. */
  cancel(id: string): Promise<boolean>
  /** Does a run that failed once more: the id of the new run. Undefined: it did not fail, or was retried already. */
  retry(id: string): Promise<string | undefined>
  /** There may be runs to begin. */
  notify(): void
  /** Takes up what an earlier process left behind. */
  resume(): Promise<void>
  /**
   * Lets running work finish for `ms`, then puts the rest back into the queue. What is accepted from now on is done by
   * the next start.
   */
  close(ms: number): Promise<void>
}

interface RunsDeps {
  store: Store
  events: Events
  attempt: Attempt
  outcome: Outcome
  /** Called after an end was stored, when it left messages to send. */
  onDeliveries: () => void
  limits: () => { maxConcurrent: number; maxQueued: number }
  createId: () => string
  owner: string
  log: Log
}

/** A run whose holder shows no sign of life for this long is taken up by another. */
const leaseMs = 30_000
const retryMs = 1_000

interface Active {
  run: StoredRun
  stop: AbortController
  done: Promise<void>
}

export function createRuns(deps: RunsDeps): Runs {
  const { store, events, limits, log } = deps
  const active = new Map<string, Active>()
  const waiters = createWaiters()
  /** Waiting in the store, and on their way into it. */
  let queued = 0
  let arriving = 0
  let closing = false
  /** The last claim was not answered: runs may be marked as ours that nobody here has begun. */
  let claimIsUncertain = false
  let timer: NodeJS.Timeout | undefined

  const claim = async (): Promise<void> => {
    const free = limits().maxConcurrent - active.size
    if (closing || free <= 0) return
    if (claimIsUncertain) queued += await store.releaseUnheldRuns(deps.owner, [...active.keys()])
    claimIsUncertain = true
    const claimed = await store.claimRuns({ owner: deps.owner, max: free, at: Date.now(), leaseMs })
    claimIsUncertain = false
    queued = Math.max(0, queued - claimed.length)
    for (const run of claimed) begin(run)
  }
  const poller = createPoller({ claim, retryMs, log })
  const patience = { everyMs: retryMs, isGivenUp: () => closing }

  /** Claims when the next run is due that is tried again. */
  const claimDue = async (): Promise<void> => {
    poller.notify()
    const now = Date.now()
    const next = await store.getNextRetryAt(now)
    if (next !== undefined) retries.notifyIn(next - now)
  }
  const retries = createPoller({ claim: claimDue, retryMs, log })

  /** Starts what is on disk although nobody was told so: its commit came late, or its answer was lost. */
  const catchUp = async (): Promise<void> => {
    queued = await store.countQueuedRuns()
    await events.requestWaitingWakes()
    poller.notify()
    deps.onDeliveries()
  }
  const recovery = createPoller({ claim: catchUp, retryMs, log })

  const begin = (run: StoredRun): void => {
    const stop = new AbortController()
    const done = work(run, stop).finally(() => {
      active.delete(run.id)
      poller.notify()
    })
    active.set(run.id, { run, stop, done })
  }

  const work = async (run: StoredRun, stop: AbortController): Promise<void> => {
    try {
      const outcome = await deps.attempt(run, stop)
      if ('retry' in outcome) await postpone(run, outcome.retry)
      else await end(run, outcome)
    } catch (error) {
      if (!(error instanceof Stopped)) log.error({ runId: run.id, ...describeError(error) }, 'could not end a run')
      else if (error.reason === 'stopping') await store.releaseRun(run).catch(() => undefined)
    }
  }

  const postpone = async (run: StoredRun, retry: RunRetry): Promise<void> => {
    // Not stored: it is begun again right away, or by the next start.
    if (!(await retryUntilStored(() => store.releaseRun(run, retry), patience))) return
    queued += 1
    retries.notify()
  }

  /** The work is done, so its end is stored however long the store is away; only a stop or a lost lease gives up. */
  const end = async (run: StoredRun, ended: Ended): Promise<void> => {
    const stored = await retryUntilStored(() => deps.outcome.resolve(run, ended), patience)
    if (await retryUntilStored(() => store.endRun(run, stored), patience)) announce(run, stored)
  }

  const refuseBeyondLimit = (count: number): void => {
    if (queued + arriving + count > limits().maxQueued)
      throw new GatewayError('overloaded', undefined, { retryAfter: 5 })
  }

  const cancelActive = (id: string): boolean => {
    const running = active.get(id)
    running?.stop.abort(new Stopped('cancelled'))
    return running !== undefined
  }

  const cancelQueued = async (id: string): Promise<boolean> => {
    const run = await store.getRun(id)
    if (run?.status !== 'queued') return false
    const stored = await deps.outcome.resolve(run, cancelled)
    if (!(await store.cancelQueuedRun(id, stored))) return false
    queued = Math.max(0, queued - 1)
    // What waited behind it may be next.
    poller.notify()
    announce(run, stored)
    return true
  }

  const announce = (run: StoredRun, end: RunEnd): void => {
    logRunEnd(log, run, end)
    events.announce(end.events)
    if (end.alert || end.deliveries.some((delivery) => delivery.status === 'pending')) deps.onDeliveries()
    waiters.notify({ ...run, status: end.status, result: end.result, endedAt: end.at })
  }

  const upkeep = async (): Promise<void> => {
    for (const { run, stop } of active.values()) {
      if (!(await store.renewRun(run, Date.now() + leaseMs)) && active.has(run.id)) stop.abort(new Stopped('lost'))
    }
    await recoverExpired()
    queued = await store.countQueuedRuns()
    await store.purgeExpiredKeys(Date.now())
  }

  /** The number of those that begin again. */
  const recoverExpired = async (): Promise<number> => {
    const { queued: again, exhausted } = await store.recoverExpiredRuns(Date.now())
    queued += again
    if (again > 0) poller.notify()
    for (const run of exhausted) {
      const error = {
        type: 'interrupted',
        message: `The gateway stopped during the run, ${run.attempt} times in a row; it is not tried again.`,
      }
      await end(run, { status: 'failed', result: { error }, transcript: [], eventsRendered: false })
    }
    return again
  }

  const outage = createOutage(log, {
    failed: 'upkeep of runs failed; it is tried again',
    worked: 'upkeep of runs works again',
  })
  const keepUp = (): void => void upkeep().then(() => void outage.worked(), outage.failed)

  return {
    accept: async (command) => {
      const count = command.runs?.length ?? 0
      if (count > 0) refuseBeyondLimit(count)
      arriving += count
      try {
        const result = await store.accept(command)
        // Whoever repeats a request may have been answered an error the first time.
        if (result.outcome === 'replayed') recovery.notify()
        if (result.outcome !== 'accepted') return result
        queued += count
        if (count > 0 && active.size < limits().maxConcurrent) poller.notify()
        if (command.events) events.announce(command.events)
        return result
      } catch (error) {
        // It may be stored all the same. The store answers in order, so what is asked now sees what became of it.
        recovery.notify()
        throw error
      } finally {
        arriving -= count
      }
    },

    ended: async (id, ms) => await waiters.wait(() => store.getRun(id), { id, ms }),

    cancel: async (id) => {
      if (cancelActive(id) || (await cancelQueued(id))) return true
      // It may have been handed out meanwhile.
      await poller.settled()
      return cancelActive(id)
    },

    retry: async (id) => {
      refuseBeyondLimit(1)
      const newId = deps.createId()
      if (!(await store.retryRun(id, { id: newId, at: Date.now() }))) return undefined
      queued += 1
      poller.notify()
      return newId
    },

    notify: poller.notify,

    resume: async () => {
      queued = await store.countQueuedRuns()
      const again = await recoverExpired()
      if (again > 0) log.info({ runs: again }, `took up ${again} ${again === 1 ? 'run' : 'runs'} after a crash`)
      timer = setInterval(keepUp, leaseMs / 3).unref()
      retries.notify()
    },

    close: async (ms) => {
      closing = true
      clearInterval(timer)
      await Promise.all([poller.close(), retries.close(), recovery.close()])
      const all = Promise.all([...active.values()].map(({ done }) => done))
      await Promise.race([all, delay(ms, undefined, { ref: false })])
      for (const { stop } of active.values()) stop.abort(new Stopped('stopping'))
      await all
      // Whoever still waits is told how far the run came.
      waiters.close()
    },
  }
}
