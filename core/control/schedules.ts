// The endpoint that lists the schedules of all agents.
import { viewTiming } from '../schedules/timing.ts'
import type { Store, StoredSchedule } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface SchedulesDeps {
  store: Pick<Store, 'listSchedules'>
}

export const scheduleEndpoints = ({ store }: SchedulesDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/schedules',
    schema: {
      summary: 'Lists the schedules of all agents.',
      querystring: SchedulesQuery,
      response: { 200: pageOf(Schedule) },
    },
    handle: async ({ query }) =>
      viewPage(await store.listSchedules({ agentId: query.agentId }, pageRequest(query)), view),
  }),
]

const view = ({ id, agentId, name, spec, timing, nextAt, lastAt, createdAt }: StoredSchedule) => ({
  id,
  agentId,
  name,
  message: spec.message,
  timing: viewTiming(timing),
  nextAt: iso(nextAt),
  ...(lastAt !== null && { lastAt: iso(lastAt) }),
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
  message: Type.String({ description: 'The message of each run.' }),
  timing: Timing,
  nextAt: Time(),
  lastAt: Type.Optional(Time('The scheduled time of the last firing.')),
  createdAt: Time(),
})
