// Fires schedules at their times, each time once. Times that passed while the gateway was down fire once, at its start.
import { BudgetError } from '../budgets/budget-error.ts'
import { createOutage, type Outage } from '../outage.ts'
import type { Log, ScheduleApi } from '../plugin/plugin.ts'
import type { Caller } from '../runs/provenance.ts'
import { computeNextFiring, replanFiring } from './timing.ts'
import { createPoller } from '../store/poller.ts'
import type { StoredSchedule } from '../store/store.ts'
import { createScheduleApi, createScheduleRun, createSkipState, type ScheduleApiDeps } from './schedule-api.ts'

export interface Schedules {
  /** Returns the API for the schedules of the caller's agent. */
  apiFor(caller: Caller): ScheduleApi
  /** Fires what is due, and from now on each schedule at its times. */
  start(): void
  close(): Promise<void>
}

interface SchedulesDeps extends ScheduleApiDeps {
  log: Log
}

const maxFiringsAtOnce = 50
const retryMs = 5_000
/** The clock may jump, and another gateway may add a schedule and die, so the store is read at least this often. */
const maxWaitMs = 10_000

export function createSchedules(deps: SchedulesDeps): Schedules {
  const { store, now, log } = deps
  // Infinity: the first look always replans, because the clock may have been set back while the gateway was down.
  let lastLookAt = Infinity
  const outage = createOutage(log, {
    failed: 'a schedule could not fire; it is tried again',
    worked: 'the schedules fire again',
  })

  const fireDue = async (): Promise<void> => {
    const lookAt = now()
    if (lookAt < lastLookAt) await replan(deps, lookAt)
    lastLookAt = lookAt
    const due = await store.listDueSchedules(now(), maxFiringsAtOnce)
    let hasFailed = false
    for (const schedule of due) hasFailed = !(await tryFire(deps, schedule, outage)) || hasFailed
    if (due.length > 0 && !hasFailed) outage.worked()
    const next = (await store.getNextScheduleAt()) ?? Infinity
    const waitMs = Math.min(Math.max(0, next - now()), maxWaitMs)
    poller.notifyIn(hasFailed ? Math.max(waitMs, retryMs) : waitMs)
  }
  const poller = createPoller({ claim: fireDue, retryMs, log })

  return {
    apiFor: (caller) => createScheduleApi(deps, caller, poller.notify),
    start: () => poller.notify(),
    close: () => poller.close(),
  }
}

/**
 * Recomputes the next firing of every schedule after the clock was set back. Otherwise the schedules would not fire
 * until the clock has caught up.
 */
async function replan({ store, agents }: SchedulesDeps, now: number): Promise<void> {
  for (const { id: agentId } of agents.all) {
    for (const { id, timing, nextAt, lastAt } of await store.listAgentSchedules(agentId)) {
      const to = await replanFiring(timing, { nextAt, lastAt, now })
      if (to < nextAt) await store.moveSchedule(id, { from: nextAt, to })
    }
  }
}

/** Returns false if the schedule is still due and will be tried again. */
async function tryFire(deps: SchedulesDeps, schedule: StoredSchedule, outage: Outage): Promise<boolean> {
  try {
    await fire(deps, schedule)
    return true
  } catch (error) {
    outage.failed(error, { schedule: schedule.id })
    return false
  }
}

/**
 * Skips this time if the schedule's last run has not ended. The final time is never skipped: its run waits behind the
 * last one.
 */
async function fire(deps: SchedulesDeps, schedule: StoredSchedule): Promise<void> {
  const nextAt = (await computeNextFiring(schedule.timing, { due: schedule.nextAt, now: deps.now() })) ?? null
  const run = createScheduleRun(deps, schedule)
  const { queued, running, waiting } = await deps.store.getSessionCounts(run.sessionKey)
  const skips = queued + running + waiting > 0 && nextAt !== null
  if (skips) deps.log.warn({ schedule: schedule.id }, 'a schedule does not fire: its last run has not ended')
  const firing = { scheduleId: schedule.id, due: schedule.nextAt, nextAt }
  try {
    await deps.runs.accept({ at: Date.now(), firing, runs: skips ? [] : [run] })
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error
    deps.log.warn({ schedule: schedule.id, reason: error.message }, 'a schedule does not fire: a budget is used up')
    const state = createSkipState(schedule, error.message)
    await deps.runs.accept({ at: Date.now(), firing, state })
  }
}
