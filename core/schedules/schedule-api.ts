// Creates the schedule part of the tool API: an agent's tools add, list, run and remove the agent's schedules.
import type { Agents } from '../agents/agents.ts'
import type { ToolDelivery } from '../delivery/tool-delivery.ts'
import { InputError, type ScheduleApi, type ScheduleRequest, type ScheduleSummary } from '../plugin/plugin.ts'
import { type Caller, createSender, inheritOrigin, sourceOf } from '../runs/provenance.ts'
import type { Runs } from '../runs/runs.ts'
import { computeNextFiring, parseTiming, viewTiming } from './timing.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import { authorOf, joinProvenance, noProvenance } from '../store/provenance.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { NewRun, NewSchedule, Store, StoredSchedule } from '../store/store.ts'

export interface ScheduleApiDeps extends ScheduleRunDeps {
  store: Store
  runs: Pick<Runs, 'accept'>
  agents: Agents
  toolDelivery: Pick<ToolDelivery, 'resolve'>
  /** The time of the store: another gateway may fire the schedule. */
  now(): number
}

interface ScheduleRunDeps {
  createId: () => string
  maxAttempts: number
}

const maxSchedulesPerAgent = 100

/** `onAdded` is called when a schedule was added, because it may be the next one to fire. */
export function createScheduleApi(deps: ScheduleApiDeps, caller: Caller, onAdded: () => void): ScheduleApi {
  const { store, runs } = deps
  const { agentId } = caller.subject
  /** Whoever may do less than the one who added a schedule neither sees nor changes it. */
  const listOwn = async () => (await store.listAgentSchedules(agentId)).filter((one) => mayManage(caller, one))
  const change = (action: string, target: string) => ({ ...sourceOf(caller), action, target, agentId })
  return {
    add: async (request) => {
      const schedule = await createSchedule(deps, request, caller)
      const at = deps.now()
      const audit = change('schedule.add', schedule.id)
      if (!(await store.addSchedule(schedule, { at, most: maxSchedulesPerAgent, audit })))
        throw new InputError(`The agent already has ${maxSchedulesPerAgent} schedules, which is the limit; remove one.`)
      onAdded()
      return summarize({ ...schedule, lastAt: null, createdAt: at })
    },
    list: async () => {
      const schedules = await listOwn()
      await caller.sources?.add(joinProvenance(...schedules.map(({ spec }) => spec.origin.provenance ?? noProvenance)))
      return schedules.map(summarize)
    },
    remove: async (id) =>
      (await listOwn()).some((one) => one.id === id) &&
      (await store.removeSchedule(id, agentId, { at: deps.now(), change: change('schedule.remove', id) })),
    run: async (id) => {
      const schedule = (await listOwn()).find((one) => one.id === id)
      if (!schedule) return undefined
      const run = createScheduleRun(deps, schedule)
      await runs.accept({ at: Date.now(), runs: [run], audit: change('schedule.run', id) })
      return { runId: run.id, sessionKey: run.sessionKey }
    },
  }
}

/** A group and a client manage the schedules that they have added, the agent in other sessions all. */
function mayManage({ subject }: Caller, { spec }: StoredSchedule): boolean {
  const { sessionKey, client } = authorOf(subject)
  if (client === undefined && sessionKey === authorOf({ ...subject, sessionKey: '' }).sessionKey) return true
  const [first] = spec.origin.initiators ?? []
  if (!first) return false
  const author = authorOf(first)
  return author.sessionKey === sessionKey && author.client === client
}

export const createScheduleRun = (
  { createId, maxAttempts }: ScheduleRunDeps,
  { id, agentId, spec }: StoredSchedule,
): NewRun => ({
  id: createId(),
  kind: 'schedule',
  agentId,
  sessionKey: agentSessionKey(agentId, `schedule:${id}`),
  spec,
  maxAttempts,
})

async function createSchedule(deps: ScheduleApiDeps, request: ScheduleRequest, caller: Caller): Promise<NewSchedule> {
  const { agentId } = caller.subject
  const now = deps.now()
  const timing = parseTiming(request.timing, now)
  const nextAt = await computeNextFiring(timing, { due: timing.kind === 'at' ? now - 1 : now, now })
  if (nextAt === undefined) throw new InputError('cron never fires: no such day exists.')
  const name = request.name?.trim() || 'schedule'
  const spec: RunSpec = {
    message: request.message,
    name,
    origin: { kind: 'schedule', name, ...(await inheritOrigin(deps, caller)) },
    timeoutSeconds: request.timeoutSeconds,
    deliver: request.deliver && (await resolveRecipient(deps.toolDelivery, request.deliver, caller)),
    wakeMode: 'next-heartbeat',
    summarySession: deps.agents.get(agentId).mainSession,
  }
  return { id: deps.createId(), agentId, name, timing, spec, nextAt }
}

async function resolveRecipient(
  toolDelivery: Pick<ToolDelivery, 'resolve'>,
  request: NonNullable<ScheduleRequest['deliver']>,
  caller: Caller,
): Promise<RunSpec['deliver']> {
  const { channel, to, accountId, threadId, route } = await toolDelivery.resolve(request, createSender(caller))
  return { channel, to, accountId, threadId: threadId ?? undefined, route }
}

/** Why a schedule did not fire at a time. */
export interface SkippedFiring {
  due: number
  reason: string
}

const skipOwner = 'schedule-skip'

export const createSkipState = ({ id, nextAt: due }: StoredSchedule, reason: string) => ({
  owner: skipOwner,
  key: id,
  value: { due, reason },
})

/** Why the schedule did not fire at its last time. Undefined: it did. */
export async function readSkipReason(
  store: Pick<Store, 'getState'>,
  { id, lastAt }: Pick<StoredSchedule, 'id' | 'lastAt'>,
): Promise<string | undefined> {
  const skipped = (await store.getState(skipOwner, id)) as SkippedFiring | undefined
  return skipped && skipped.due === lastAt ? skipped.reason : undefined
}

function summarize({ id, name, spec, timing, nextAt, lastAt }: StoredSchedule): ScheduleSummary {
  const toIso = (at: number) => new Date(at).toISOString()
  return {
    id,
    name,
    message: spec.message,
    timing: viewTiming(timing),
    nextAt: toIso(nextAt),
    ...(lastAt !== null && { lastAt: toIso(lastAt) }),
  }
}
