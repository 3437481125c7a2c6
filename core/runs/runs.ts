// Accepts runs and executes them: stored before the caller gets an answer, one at a time per session, recovered after a
// crash.
import type { Budgets } from '../budgets/budgets.ts'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Events } from '../sessions/events.ts'
import { createPoller } from '../store/poller.ts'
import type { Replicas } from '../store/replicas.ts'
import type {
  AcceptCommand,
  AcceptResult,
  AuditedChange,
  NewRun,
  Store,
  StoredRun,
  StoreResult,
} from '../store/store.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'
import { createActiveRuns } from './queue/active-runs.ts'
import type { Attempt } from './attempt.ts'
import { createCompletion } from './queue/completion.ts'
import { createSharedRuns } from './queue/shared-runs.ts'
import { createDeadlines } from './queue/deadlines.ts'
import { createLeaseUpkeep } from './queue/leases.ts'
import type { Outcome } from './outcome.ts'
import { createProviderRecovery } from './queue/provider-recovery.ts'
import { createQueueLimit, type QueueLimit } from './queue/queue-limit.ts'
import { createRunClaims } from './queue/claims.ts'
import { createWaiters } from './queue/waiters.ts'
import type { RunTracing } from './run-tracing.ts'

export interface Runs {
  /**
   * Stores whatever comes in (all of it or nothing), then starts it. Every path into the gateway goes through here.
   * Throws `overloaded` if too many runs are waiting, and a `BudgetError` if a budget is used up.
   * @param trace the span that the runs belong to
   */
  accept(command: AcceptCommand, trace?: TraceContext): Promise<AcceptResult>
  /** Returns the run when it has ended, or as it is after `ms`. Undefined if there is no such run. */
  waitForEnd(id: string, ms: number): Promise<StoredRun | undefined>
  /** Returns false if the run has ended already or is unknown. */
  cancel(id: string, audit?: AuditedChange): Promise<boolean>
  /** Repeats a failed run. Returns the new run's id, or undefined if the run did not fail or was retried already. */
  retry(id: string, audit?: AuditedChange): Promise<string | undefined>
  /** Lets some of the runs that wait for this provider be tried soon, because one of its models has answered. */
  resumeProvider(provider: string): void
  /** Looks for runs to start, because some may be waiting. */
  notify(): void
  /** Looks for runs whose time has come, because the times of waiting runs have changed. */
  recheckTimes(): void
  /** Starts the regular work, and recovers the runs that an earlier process left behind. */
  resume(): Promise<void>
  /**
   * Lets active runs finish for `ms` milliseconds, then puts the rest back into the queue. Runs that are accepted from
   * now on start with the next process.
   */
  close(ms: number): Promise<void>
}

interface RunsDeps {
  store: Store
  events: Events
  attempt: Attempt
  outcome: Outcome
  budgets: Pick<Budgets, 'reserve' | 'reread'>
  /** Called when stored deliveries are waiting to be sent. */
  onDeliveries: () => void
  limits: () => { maxConcurrent: number; maxQueued: number }
  createId: () => string
  /** Identifies this process as the holder of leases. */
  owner: string
  /** True: other gateways may work on the runs of the store, too. */
  isShared: boolean
  replicas: Replicas
  /** Absent: traces are off. */
  tracing?: Pick<RunTracing, 'begin' | 'end'> | undefined
  log: Log
}

/** A run whose holder has not renewed its lease for this long is recovered by another process. */
const leaseMs = 15_000
/** Leases are renewed, and expired ones are found, this often. Together with the lease, this bounds a recovery. */
const upkeepEveryMs = 4_000
const retryMs = 1_000

export function createRuns(deps: RunsDeps): Runs {
  const { store, events, attempt, outcome, budgets, onDeliveries, limits, createId, owner } = deps
  const { isShared, replicas, log } = deps
  let isClosing = false
  const maxConcurrent = () => limits().maxConcurrent
  const waiters = createWaiters(store)
  const queue = createQueueLimit(store, () => limits().maxQueued)
  const completion = createCompletion({
    store,
    events,
    outcome,
    waiters,
    onDeliveries,
    onEnd: deps.tracing?.end,
    isClosing: () => isClosing,
    retryMs,
    log,
  })
  const active = createActiveRuns({
    store,
    attempt,
    onResult: completion.complete,
    onRetry: async (run, retry) => {
      if (!(await completion.postpone(run, retry))) return
      queue.add(1)
      deadlines.notify()
      providers.failed()
      claims.notifyRetries()
    },
    onWait: async (run, wait) => {
      if (await completion.wait(run, wait)) queue.add(1)
    },
    onSuspended: async (run) => {
      if ((await completion.suspend(run)) === 'queued') queue.add(1)
    },
    onCancelled: (id) => cancelQueued(id),
    onSettled: () => claims.notify(),
    leaseMs,
    isShared,
    log,
  })
  const claims = createRunClaims({ store, owner, active, queue, maxConcurrent, isShared, leaseMs, retryMs, log })
  const providers = createProviderRecovery({ store, onAdvanced: claims.notifyRetries })
  const deadlines = createDeadlines({
    store,
    completion,
    onEnded: (count) => {
      queue.add(-count)
      // The next runs of their sessions may start now.
      claims.notify()
    },
    retryMs,
    log,
  })
  const upkeep = createLeaseUpkeep({
    store,
    active,
    queue,
    completion,
    onRequeued: claims.notify,
    onMaintained: deadlines.notify,
    everyMs: upkeepEveryMs,
    log,
  })

  const onCancelled = (id: string): void => {
    if (!active.cancel(id)) void cancelQueued(id).catch(() => undefined)
  }
  const shared = isShared ? createSharedRuns({ replicas, claims, waiters, onCancelled }) : undefined

  /** Starts what is stored although this process does not know it: its commit came late, or the answer was lost. */
  const catchUp = async (): Promise<void> => {
    await queue.recount()
    await events.requestWaitingWakes()
    claims.notify()
    onDeliveries()
  }
  const recovery = createPoller({ claim: catchUp, retryMs, log })

  const cancelQueued = async (id: string, audit?: AuditedChange): Promise<boolean> => {
    if (!(await completion.cancelQueued(id, audit))) return false
    queue.add(-1)
    // The next run of the session may start now.
    claims.notify()
    return true
  }

  /** Stores it first, so that it holds after a crash and for a run of another gateway, too. */
  const cancelRunning = async (id: string, audit: AuditedChange | undefined): Promise<boolean> => {
    const isRunning = await store.cancelRunningRun(id, { at: Date.now(), audit })
    // A claim may be about to start it here.
    if (isRunning && !active.cancel(id)) void claims.settled().then(() => active.cancel(id))
    return isRunning
  }

  return {
    accept: createAccept({
      store,
      events,
      queue,
      budgets,
      tracing: deps.tracing,
      onQueued: () => {
        if (active.count() < maxConcurrent()) claims.notify()
      },
      onUncertain: recovery.notify,
    }),
    waitForEnd: waiters.wait,
    // The run may start in the meantime.
    cancel: async (id, audit) =>
      (await cancelRunning(id, audit)) || (await cancelQueued(id, audit)) || (await cancelRunning(id, audit)),
    retry: async (id, audit) => {
      queue.check(1)
      const run = await store.getRun(id)
      // Somebody asked for it, so that it does not wait.
      const reservation = run && (await budgets.reserve([{ ...run, kind: 'chat' }]))
      const newId = createId()
      let isRetried = false
      try {
        isRetried = await store.retryRun(id, { id: newId, at: Date.now() }, audit)
      } finally {
        reservation?.settle(isRetried)
      }
      if (!isRetried) return undefined
      queue.add(1)
      claims.notify()
      return newId
    },
    resumeProvider: providers.answered,
    notify: claims.notify,
    recheckTimes: () => {
      claims.notifyRetries()
      deadlines.notify()
    },
    resume: async () => {
      await queue.recount()
      const count = await upkeep.recoverExpired()
      if (count > 0) log.info({ runs: count }, `took up ${count} ${count === 1 ? 'run' : 'runs'} after a crash`)
      upkeep.start()
      shared?.start()
      claims.notifyRetries()
      deadlines.notify()
    },
    close: async (ms) => {
      isClosing = true
      upkeep.close()
      shared?.close()
      await Promise.all([claims.close(), recovery.close(), deadlines.close()])
      await active.close(ms)
      // Callers that still wait get the run as it was.
      waiters.close()
    },
  }
}

interface AcceptDeps extends Pick<RunsDeps, 'store' | 'events' | 'budgets' | 'tracing'> {
  queue: QueueLimit
  onQueued(): void
  /** Called when runs or events may be stored that this process does not know. */
  onUncertain(): void
}

function createAccept({ store, events, queue, budgets, tracing, onQueued, onUncertain }: AcceptDeps): Runs['accept'] {
  const storeCommand = async (command: AcceptCommand, trace: TraceContext | undefined): Promise<StoreResult> => {
    const count = command.runs?.length ?? 0
    if (count > 0) queue.check(count)
    queue.reserve(count)
    try {
      const result = await store.accept(tracing ? tracing.begin(command, trace) : command)
      // The first request with this key may have been answered with an error although it was stored.
      if (result.outcome === 'replayed') onUncertain()
      if (result.outcome !== 'accepted') return result
      queue.add(count)
      if (count > 0) onQueued()
      if (command.events) events.announce(command.events)
      return result
    } catch (error) {
      // The command may be stored all the same. The store answers in order, so a read from now on sees it.
      onUncertain()
      throw error
    } finally {
      queue.release(count)
    }
  }

  const storeRuns = async (
    command: AcceptCommand,
    given: readonly NewRun[],
    trace: TraceContext | undefined,
  ): Promise<StoreResult> => {
    const reserved = budgets.reserve(given)
    // Almost always known at once.
    const { runs, limits, settle } = reserved instanceof Promise ? await reserved : reserved
    let isStored = false
    try {
      const isSame = runs === given && !limits
      const result = await storeCommand(isSame ? command : { ...command, runs, limits }, trace)
      isStored = result.outcome === 'accepted'
      return result
    } finally {
      settle(isStored)
    }
  }

  return async (command, trace) => {
    const { runs = [] } = command
    for (let tries = 0; tries < maxTries; tries++) {
      const result = await (runs.length > 0 ? storeRuns(command, runs, trace) : storeCommand(command, trace))
      if (result.outcome !== 'over_limit') return result
      // Another gateway has taken the room that this one knew of. What is stored decides.
      await budgets.reread(runs)
    }
    throw new GatewayError('budget_exceeded', undefined, { retryAfter: 1 })
  }
}

/** After a read, a budget that is used up refuses the runs. It is read again only if it opened in between. */
const maxTries = 5
