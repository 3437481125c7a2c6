// The endpoint that lists the schedules of all agents.
import { readSkipReason } from '../schedules/schedule-api.ts'
import { viewTiming } from '../schedules/timing.ts'
import type { Store, StoredSchedule } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { content } from './content.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface SchedulesDeps {
  store: Pick<Store, 'listSchedules' | 'getState'>
}

export const scheduleEndpoints = ({ store }: SchedulesDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/schedules',
    access: { needs: 'read', scope: 'agents' },
    schema: {
      summary: 'Lists the schedules of all agents.',
      querystring: SchedulesQuery,
      response: { 200: pageOf(Schedule) },
    },
    handle: async ({ query, principal: { agents } }) => {
      const page = await store.listSchedules({ agentId: query.agentId, agents }, pageRequest(query))
      const reasons = await Promise.all(page.items.map((schedule) => readSkipReason(store, schedule)))
      const skipped = new Map(page.items.map(({ id }, index) => [id, reasons[index]]))
      return viewPage(page, (schedule) => view(schedule, skipped.get(schedule.id)))
    },
  }),
]

const view = (
  { id, agentId, name, spec, timing, nextAt, lastAt, createdAt }: StoredSchedule,
  skipped: string | undefined,
) => ({
  id,
  agentId,
  name,
  message: spec.message,
  timing: viewTiming(timing),
  nextAt: iso(nextAt),
  ...(lastAt !== null && { lastAt: iso(lastAt) }),
  ...(skipped !== undefined && { skipped }),
  createdAt: iso(createdAt),
})

const SchedulesQuery = Type.Object({ ...pageQuery, agentId: Type.Optional(Type.String()) })

const Timing = Type.Object(
  {
    cron: Type.Optional(Type.String()),
    timezone: Type.Optional(Type.String()),
    every: Type.Optional(Type.String({ description: 'A duration, such as `1h30m`.' })),
    at: Type.Optional(Time()),
  },
  { description: 'When the schedule fires: `cron`, `every` or `at`.' },
)

const Schedule = Type.Object({
  id: Type.String(),
  agentId: Type.String(),
  name: Type.String(),
  message: Type.Optional(Type.String({ description: 'The message of each run.', ...content })),
  timing: Timing,
  nextAt: Time(),
  lastAt: Type.Optional(Time('The scheduled time of the last firing.')),
  skipped: Type.Optional(Type.String({ description: 'Why it started no run at `lastAt`. Absent: it did.' })),
  createdAt: Time(),
})
