// Accepted runs: on disk before the caller knows, one at a time per session, taken up again after a crash.
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import type { Events } from '../sessions/events.ts'
import type { AcceptCommand, AcceptResult, RunEnd, Store, StoredRun } from '../store/store.ts'
import { type Attempt, Stopped, type StopReason } from './attempt.ts'
import type { Ended, Outcome } from './outcome.ts'
import { logRunEnd } from './run-log.ts'

export interface Runs {
  /** The waist: whatever comes in is stored here, all or nothing, and then set going. Throws `overloaded` when too many runs wait. */
  accept(command: AcceptCommand): Promise<AcceptResult>
  /** The run once it has ended, or as it is after `ms`; undefined when there is none. */
  ended(id: string, ms: number): Promise<StoredRun | undefined>
  /** False: it has ended already, or is unknown. */
  cancel(id: string): Promise<boolean>
  /** Takes up what an earlier process left behind. */
  resume(): Promise<void>
  /** Lets running work finish for `ms`, then puts the rest back into the queue. What is accepted from now on is done by the next start. */
  close(ms: number): Promise<void>
}

interface RunsDeps {
  store: Store
  events: Events
  attempt: Attempt
  outcome: Outcome
  /** Called after an end was stored, when it left messages to send. */
  onMessages: () => void
  limits: { maxConcurrent: number; maxQueued: number }
  owner: string
  log: Log
}

/** A run whose holder shows no sign of life for this long is taken up by another. */
const leaseMs = 30_000
const retryMs = 1_000

export function createRuns(deps: RunsDeps): Runs {
  const { store, events, limits, log } = deps
  const active = new Map<string, { run: StoredRun; stop: AbortController; done: Promise<void> }>()
  const waiters = new Map<string, Set<(run?: StoredRun) => void>>()
  let queued = 0
  let closing = false
  let closed = false
  let claiming = false
  let claimAgain = false

  const pump = async (): Promise<void> => {
    if (claiming) {
      claimAgain = true
      return
    }
    claiming = true
    try {
      do {
        claimAgain = false
        await claim()
      } while (claimAgain && !closing)
    } catch (error) {
      log.error({ error: (error as Error).name }, 'could not claim runs')
      setTimeout(() => void pump(), retryMs).unref()
    } finally {
      claiming = false
    }
  }

  const claim = async (): Promise<void> => {
    const free = limits.maxConcurrent - active.size
    if (closing || free <= 0) return
    const claimed = await store.claimRuns({ owner: deps.owner, max: free, at: Date.now(), leaseMs })
    queued = Math.max(0, queued - claimed.length)
    for (const run of claimed) begin(run)
  }

  const begin = (run: StoredRun): void => {
    const stop = new AbortController()
    const done = work(run, stop).finally(() => {
      active.delete(run.id)
      void pump()
    })
    active.set(run.id, { run, stop, done })
  }

  const work = async (run: StoredRun, stop: AbortController): Promise<void> => {
    try {
      await end(run, await deps.attempt(run, stop))
    } catch (error) {
      if (!(error instanceof Stopped)) log.error({ runId: run.id, error: (error as Error).name }, 'could not end a run')
      else if (error.reason === 'stopping') await store.releaseRun(run).catch(() => undefined)
    }
  }

  /** The work is done, so its end is stored however long the store is away; only a stop or a lost lease gives up. */
  const end = async (run: StoredRun, ended: Ended): Promise<void> => {
    const stored = await deps.outcome.resolve(run, ended)
    for (;;) {
      try {
        if (await store.endRun(run, stored)) announce(run, stored)
        return
      } catch (error) {
        if (closing || !(error instanceof GatewayError)) throw error
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  const announce = (run: StoredRun, end: RunEnd): void => {
    logRunEnd(log, run, end)
    events.announce(end.events)
    if (end.messages.some((message) => message.status === 'pending')) deps.onMessages()
    notify({ ...run, status: end.status, result: end.result, endedAt: end.at })
  }

  const notify = (run: StoredRun): void => {
    for (const resolve of waiters.get(run.id) ?? []) resolve(run)
    waiters.delete(run.id)
  }

  const reap = async (): Promise<void> => {
    const reaped = await store.reapRuns(Date.now())
    queued += reaped.queued
    for (const run of reaped.exhausted) {
      const error = { type: 'interrupted', message: `The gateway stopped during the run, ${run.attempt} times in a row; it is not tried again.` }
      await end(run, { status: 'failed', result: { error }, transcript: [], eventsRendered: false })
    }
    if (reaped.queued > 0) void pump()
  }

  const upkeep = setInterval(() => void renew().catch((error: Error) => log.error({ error: error.name }, 'upkeep of runs failed')), leaseMs / 3)
  upkeep.unref()

  const renew = async (): Promise<void> => {
    for (const { run, stop } of active.values()) {
      if (!(await store.renewRun(run, Date.now() + leaseMs)) && active.has(run.id)) stop.abort(new Stopped('lost'))
    }
    await reap()
    queued = await store.countQueuedRuns()
    await store.forgetExpired(Date.now())
  }

  const admit = (count: number): void => {
    if (count > 0 && queued + count > limits.maxQueued) throw new GatewayError('overloaded', undefined, { retryAfter: 5 })
    queued += count
  }

  return {
    accept: async (command) => {
      const count = command.runs?.length ?? 0
      admit(count)
      const result = await store.accept(command).catch((error: unknown) => {
        queued -= count
        throw error
      })
      if (result.outcome !== 'accepted') {
        queued -= count
        return result
      }
      if (count > 0) void pump()
      if (command.events) events.announce(command.events)
      return result
    },

    ended: async (id, ms) => {
      let seen: ((run?: StoredRun) => void) | undefined
      const ended = new Promise<StoredRun | undefined>((resolve) => {
        seen = resolve
        waiters.set(id, (waiters.get(id) ?? new Set()).add(resolve))
      })
      try {
        const now = await store.getRun(id)
        if (!now || now.endedAt !== null || closed) return now
        return (await within(ended, ms)) ?? (await store.getRun(id))
      } finally {
        if (seen) waiters.get(id)?.delete(seen)
        if (waiters.get(id)?.size === 0) waiters.delete(id)
      }
    },

    cancel: async (id) => {
      const running = active.get(id)
      if (running) {
        running.stop.abort(new Stopped('cancelled'))
        return true
      }
      if (!(await store.cancelQueuedRun(id, Date.now()))) return false
      queued -= 1
      const run = await store.getRun(id)
      if (run) notify(run)
      return true
    },

    resume: async () => {
      queued = await store.countQueuedRuns()
      await reap()
      void pump()
    },

    close: async (ms) => {
      closing = true
      clearInterval(upkeep)
      const all = (): Promise<unknown> => Promise.all([...active.values()].map(({ done }) => done))
      await within(all(), ms)
      const reason: StopReason = 'stopping'
      for (const { stop } of active.values()) stop.abort(new Stopped(reason))
      await all()
      closed = true
      // Whoever still waits is told how far the run came.
      for (const waiting of waiters.values()) for (const resolve of waiting) resolve()
    },
  }
}

/** The promise's value, or undefined when `ms` pass first. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1), undefined).unref()
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
