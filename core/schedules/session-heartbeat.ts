// Runs the heartbeats of one agent in one session, one after the other, and retries with a growing delay.
import type { Agent } from '../agents/agents.ts'
import { createHeartbeatSpec, createNotesOutage, readHeartbeatNotes } from '../agents/heartbeat-prompt.ts'
import { BudgetError } from '../budgets/budget-error.ts'
import { describeError } from '../errors.ts'
import { createOutage, type Outage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Runs } from '../runs/runs.ts'
import type { FileSources } from '../tools/file-sources.ts'
import type { Store, Timestamp } from '../store/store.ts'
import { minutesUntilActive } from './active-hours.ts'

export interface SessionHeartbeat {
  /** Runs a heartbeat in `ms` milliseconds, or soon after the one that is under way. */
  schedule(ms: number): void
  close(): void
}

export interface SessionHeartbeatDeps {
  runs: Pick<Runs, 'accept' | 'waitForEnd'>
  store: Pick<Store, 'countWaitingEvents'>
  files: Pick<FileSources, 'find'>
  /** The time of the store. */
  now(): Timestamp
  createId: () => string
  maxAttempts: number
}

interface HeartbeatTarget {
  agent: Agent
  sessionKey: string
  outages: HeartbeatOutages
  /** Called when a heartbeat has run and no other is scheduled. */
  onIdle(): void
}

/** Repeated failures are logged once. */
export interface HeartbeatOutages {
  run: Outage
  /** A budget is used up. */
  budget: Outage
  notes: Outage
}

/** A heartbeat starts this long after its wake, so that wakes within this time count as one. */
export const wakeDelayMs = 250
/** The first delay after a heartbeat that failed while events wait. It doubles with each further failure. */
const minRetryMs = 60_000
const maxRetryMs = 30 * 60_000
/** Outside active hours, the clock is read again after this time at the latest. */
const maxSleepMs = 15 * 60_000

export function createSessionHeartbeat(deps: SessionHeartbeatDeps, target: HeartbeatTarget): SessionHeartbeat {
  const { agent, outages, onIdle } = target
  const alarm = createAlarm(() => void run())
  let isRunning = false
  let wasWoken = false
  let failures = 0
  let skippedForMs = 0
  let isClosed = false

  const schedule = (ms: number): void => {
    if (isRunning) wasWoken = true
    else if (!isClosed) alarm.set(ms)
  }

  const run = async (): Promise<void> => {
    const waitMinutes = minutesUntilActive(agent.heartbeat.activeHours, new Date())
    // The wall clock may jump (daylight saving, a machine that slept), so the wait is bounded.
    if (waitMinutes > 0) return schedule(Math.min(waitMinutes * 60_000, maxSleepMs))
    isRunning = true
    const succeeded = await runUntilServed()
    isRunning = false
    failures = succeeded ? 0 : failures + 1
    if (wasWoken) schedule(wakeDelayMs)
    else if (!succeeded) schedule(skippedForMs || Math.min(minRetryMs * 2 ** (failures - 1), maxRetryMs))
    else onIdle()
    wasWoken = false
  }

  /** Runs heartbeats until no batch of events is left. Returns false if events wait that could not be rendered. */
  const runUntilServed = async (): Promise<boolean> => {
    skippedForMs = 0
    try {
      for (;;) {
        const result = await runOnce(deps, target)
        outages.run.worked({ agentId: agent.id })
        outages.budget.worked({ agentId: agent.id })
        if (isClosed || result !== 'more') return result !== 'failed'
      }
    } catch (error) {
      if (error instanceof BudgetError) {
        outages.budget.failed(error)
        // Soon after it opens; a reload may open it earlier, and starts a new heartbeat.
        skippedForMs = Math.min(error.waitMs + wakeDelayMs, maxSleepMs)
      } else outages.run.failed(error)
      return false
    }
  }

  return {
    schedule,
    close: () => {
      isClosed = true
      alarm.clear()
    },
  }
}

export const createHeartbeatOutages = (agentId: string, log: Log): HeartbeatOutages => ({
  run: createOutage(log, {
    failed: 'heartbeat failed; it is tried again',
    worked: 'heartbeats work again',
    describe: (error) => ({ agentId, ...describeError(error) }),
  }),
  budget: createOutage(log, {
    level: 'warn',
    failed: 'heartbeats are skipped: a budget is used up',
    worked: 'heartbeats are no longer skipped',
    describe: (error) => ({ agentId, ...describeError(error) }),
  }),
  notes: createNotesOutage(agentId, log),
})

/** A timer that fires once, at the earliest of the times that were set. */
function createAlarm(onAlarm: () => void) {
  let timer: NodeJS.Timeout | undefined
  let setTo = Number.POSITIVE_INFINITY
  const clear = (): void => {
    clearTimeout(timer)
    setTo = Number.POSITIVE_INFINITY
  }
  const set = (ms: number): void => {
    const at = performance.now() + ms
    if (at >= setTo) return
    clear()
    setTo = at
    timer = setTimeout(() => {
      clear()
      onAlarm()
    }, ms).unref()
  }
  return { set, clear }
}

/**
 * Runs one heartbeat. Returns `more` if it rendered events and others still wait, and `failed` if it rendered none.
 * Without events and notes there is no run and no model call.
 */
async function runOnce(
  { runs, store, files, now, createId, maxAttempts }: SessionHeartbeatDeps,
  { agent, sessionKey, outages }: HeartbeatTarget,
): Promise<'done' | 'more' | 'failed'> {
  const waiting = await store.countWaitingEvents(sessionKey, now())
  if (waiting === 0 && !(await readHeartbeatNotes({ files, outage: outages.notes }, agent, sessionKey))) return 'done'
  const id = createId()
  const spec = createHeartbeatSpec(agent.id, agent.heartbeat)
  const run = { id, kind: 'heartbeat', agentId: agent.id, sessionKey, spec, maxAttempts } as const
  await runs.accept({ at: Date.now(), runs: [run] })
  const ended = await runs.waitForEnd(id, Number.POSITIVE_INFINITY)
  if (ended?.status !== 'succeeded') return waiting > 0 ? 'failed' : 'done'
  const remaining = await store.countWaitingEvents(sessionKey, now())
  return remaining > 0 && remaining < waiting ? 'more' : 'done'
}
