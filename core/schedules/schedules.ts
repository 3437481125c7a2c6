// Schedules: starts runs at their times, each time once, and what was missed while the gateway was down once at its
// start.
import { createOutage, type Outage } from '../outage.ts'
import { InputError, type Log, type ScheduleRequest, type ScheduleSummary, type ScheduleApi } from '../plugin.ts'
import type { ToolDelivery } from '../delivery/tool-delivery.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import { createPoller } from '../store/poller.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { NewRun, NewSchedule, Store, StoredSchedule } from '../store/store.ts'
import type { Agents } from '../agents/agents.ts'
import { type Caller, resolveProvenance } from '../runs/provenance.ts'
import type { Runs } from '../runs/runs.ts'
import { nextFiring, readTiming, replanFiring, viewTiming } from '../runs/timing.ts'

export interface Schedules {
  /** The schedules of the caller's agent. */
  apiFor(caller: Caller): ScheduleApi
  /** Fires what is due, and from now on at its times. */
  start(): void
  close(): Promise<void>
}

interface SchedulesDeps {
  store: Store
  runs: Pick<Runs, 'accept'>
  agents: Agents
  toolDelivery: Pick<ToolDelivery, 'resolve'>
  createId: () => string
  maxAttempts: number
  log: Log
}

/** Most schedules of one agent. */
const mostOfAgent = 100
const firedAtOnce = 50
const retryMs = 5_000
/** The wall clock may jump, and another process may add a schedule: looked at again this often, in milliseconds. */
const longestNapMs = 60_000

export function createSchedules(deps: SchedulesDeps): Schedules {
  const { store, runs, log } = deps

  // Before the first look nobody knows what the clock said when the times were worked out.
  let lookedAt = Infinity
  const outage = createOutage(log, {
    failed: 'a schedule could not fire; it is tried again',
    worked: 'the schedules fire again',
  })

  const fireDue = async (): Promise<void> => {
    const now = Date.now()
    if (now < lookedAt) await replan(deps, now)
    lookedAt = now
    const due = await store.listDueSchedules(Date.now(), firedAtOnce)
    let failed = false
    for (const schedule of due) failed = !(await fire(deps, schedule, outage)) || failed
    if (due.length > 0 && !failed) outage.worked()
    const next = await store.getNextScheduleAt()
    if (next === undefined) return
    const wait = Math.min(Math.max(0, next - Date.now()), longestNapMs)
    poller.notifyIn(failed ? Math.max(wait, retryMs) : wait)
  }
  const poller = createPoller({ claim: fireDue, retryMs, log })

  return {
    apiFor: (caller) => {
      const { agentId } = caller.subject
      return {
        add: async (request) => {
          const schedule = await createSchedule(deps, request, caller)
          const at = Date.now()
          if (!(await store.addSchedule(schedule, { at, most: mostOfAgent }))) {
            throw new InputError(`The agent has ${mostOfAgent} schedules, which is the most; remove one.`)
          }
          poller.notify()
          return summarise({ ...schedule, lastAt: null, createdAt: at })
        },
        list: async () => (await store.listAgentSchedules(agentId)).map(summarise),
        remove: (id) => store.removeSchedule(id, agentId),
        run: async (id) => {
          const schedule = (await store.listAgentSchedules(agentId)).find((one) => one.id === id)
          if (!schedule) return undefined
          const run = createRun(deps, schedule)
          await runs.accept({ at: Date.now(), runs: [run] })
          return { runId: run.id, sessionKey: run.sessionKey }
        },
      }
    },
    start: () => poller.notify(),
    close: () => poller.close(),
  }
}

/** The clock was set back: without this a schedule would be silent until the clock has caught up with its next time. */
async function replan({ store, agents }: SchedulesDeps, now: number): Promise<void> {
  for (const { id: agentId } of agents.all) {
    for (const { id, timing, nextAt, lastAt } of await store.listAgentSchedules(agentId)) {
      const to = await replanFiring(timing, { nextAt, lastAt, now })
      if (to < nextAt) await store.moveSchedule(id, { from: nextAt, to })
    }
  }
}

/** False: it is still due, and tried again. */
async function fire(deps: SchedulesDeps, schedule: StoredSchedule, outage: Outage): Promise<boolean> {
  try {
    await fireOnce(deps, schedule)
    return true
  } catch (error) {
    outage.failed(error, { schedule: schedule.id })
    return false
  }
}

/**
 * While its last run is still under way there is no other: the time passes. The last time of all waits behind that run
 * instead, or it would be lost.
 */
async function fireOnce(deps: SchedulesDeps, schedule: StoredSchedule): Promise<void> {
  const now = Date.now()
  const nextAt = (await nextFiring(schedule.timing, { due: schedule.nextAt, now })) ?? null
  const run = createRun(deps, schedule)
  const { queued, running } = await deps.store.getSessionCounts(run.sessionKey)
  const skips = queued + running > 0 && nextAt !== null
  if (skips) deps.log.warn({ schedule: schedule.id }, 'a schedule does not fire: its last run has not ended')
  await deps.runs.accept({
    at: now,
    firing: { scheduleId: schedule.id, due: schedule.nextAt, nextAt },
    runs: skips ? [] : [run],
  })
}

const createRun = ({ createId, maxAttempts }: SchedulesDeps, { id, agentId, spec }: StoredSchedule): NewRun => ({
  id: createId(),
  kind: 'schedule',
  agentId,
  sessionKey: agentSessionKey(agentId, `schedule:${id}`),
  spec,
  maxAttempts,
})

async function createSchedule(deps: SchedulesDeps, request: ScheduleRequest, caller: Caller): Promise<NewSchedule> {
  const { agentId, sessionKey } = caller.subject
  const now = Date.now()
  const timing = readTiming(request.timing, now)
  const nextAt = await nextFiring(timing, { due: timing.kind === 'at' ? now - 1 : now, now })
  if (nextAt === undefined) throw new InputError('This never comes: there is no such day.')
  const name = request.name?.trim() || 'schedule'
  const spec: RunSpec = {
    message: request.message,
    name,
    origin: { kind: 'schedule', name, ...(await resolveProvenance(deps, caller)) },
    timeoutSeconds: request.timeoutSeconds,
    deliver: request.deliver && (await settle(deps.toolDelivery, request.deliver, sessionKey)),
    wakeMode: 'next-heartbeat',
    summarySession: deps.agents.get(agentId).mainSession,
  }
  return { id: deps.createId(), agentId, name, timing, spec, nextAt }
}

async function settle(
  toolDelivery: Pick<ToolDelivery, 'resolve'>,
  request: NonNullable<ScheduleRequest['deliver']>,
  sessionKey: string,
): Promise<RunSpec['deliver']> {
  const { channel, to, accountId, threadId, route } = await toolDelivery.resolve(request, sessionKey)
  return { channel, to, accountId, threadId: threadId ?? undefined, route }
}

function summarise({ id, name, spec, timing, nextAt, lastAt }: StoredSchedule): ScheduleSummary {
  const iso = (at: number) => new Date(at).toISOString()
  return {
    id,
    name,
    message: spec.message,
    timing: viewTiming(timing),
    nextAt: iso(nextAt),
    ...(lastAt !== null && { lastAt: iso(lastAt) }),
  }
}
