// The endpoint that reports the usage of models: tokens and cost, by what it was for and by time.
import { describePriceTable } from '../agents/prices.ts'
import { machineTimezone } from '../config/timezone.ts'
import { parseDuration as parseLength } from '../kit/duration.ts'
import { GatewayError } from '../errors.ts'
import { reaches } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import type { Store, UsageSums } from '../store/store.ts'
import { locateSession, type SessionOwners } from '../tools/session.ts'
import { type Static, Type } from '../typebox.ts'
import { sessionKey as sealedKey } from './content.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso } from './lists.ts'
import { UsageFields, viewUsage } from './usage-view.ts'
import {
  createLabels,
  reportUsage,
  type UsageBound,
  type UsageItem,
  usageKeys,
  type UsageOwner,
  usagePeriods,
} from './usage-report.ts'

interface UsageDeps {
  store: Pick<Store, 'listUsage' | 'listSessionUsage'>
  agents: SessionOwners
  /** The time zone of days. Absent: the one of the machine. */
  timezone: string | undefined
}

const defaultSince = '30d'
const maxDays = 3660
const dayMs = 24 * 60 * 60 * 1000

export const usageEndpoints = ({ store, agents, timezone }: UsageDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/usage',
    access: { needs: 'read', scope: 'agents' },
    schema: {
      summary: 'Reports the usage of models: tokens and cost.',
      querystring: UsageQuery,
      response: { 200: UsageReport, ...failures(400) },
    },
    handle: async ({ query, principal }) => {
      const { by, per, since = defaultSince } = query
      const from = parseDuration(since, timezone) ?? parseTime('since', since)
      const isIncluded = ({ agentId, sessionKey }: UsageOwner): boolean =>
        reaches(principal, agentId ?? locateSession(agents, sessionKey).agentId)
      // The clock may have been set back since the last call.
      const until = query.until === undefined ? { at: Date.now() + dayMs } : parseTime('until', query.until)
      const { total, items } = await reportUsage(store, { by, per, from, until, timezone, isIncluded })
      return {
        since: 'day' in from ? from.day : iso(from.at),
        ...(query.until !== undefined && { until: query.until }),
        timezone: timezone ?? machineTimezone(),
        prices: describePriceTable(),
        total: viewSums(total),
        items: items.map((item) => viewItem(item, by)),
      }
    },
  }),
]

/** Years of four digits, so that days can be compared as texts. */
const timePattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

/** `7d` is today and the six days before it, and `12h` the last twelve hours. */
function parseDuration(text: string, timezone: string | undefined): UsageBound | undefined {
  const ms = parseLength(text, maxDays * dayMs)
  if (ms === undefined || ms === 0) return undefined
  if (ms % dayMs !== 0) return { at: Date.now() - ms }
  return { day: createLabels('day', timezone)(Date.now() - ms + dayMs) }
}

function parseTime(name: 'since' | 'until', text: string): UsageBound {
  const at = timePattern.test(text) ? Date.parse(text) : Number.NaN
  // `Date.parse` accepts the 31st of each month.
  const isDay = !text.includes('T')
  if (Number.isNaN(at) || (isDay && new Date(at).toISOString().slice(0, 10) !== text))
    throw new GatewayError(
      'invalid_request',
      `${name} must be a day, such as 2026-11-01, or a time with its offset, such as 2026-11-01T08:00:00Z` +
        (name === 'since' ? ', or a duration, such as 7d or 12h.' : '.'),
    )
  return isDay ? { day: text } : { at }
}

function viewSums({ costNanoUsd, steps, unpricedSteps, ...tokens }: UsageSums) {
  return viewUsage({
    ...tokens,
    totalTokens: tokens.inputTokens + tokens.outputTokens,
    steps,
    ...((steps === 0 || unpricedSteps < steps) && { costNanoUsd }),
    ...(unpricedSteps > 0 && { unpricedSteps }),
  })
}

const viewItem = ({ period, key, isOthers, sums }: UsageItem, by: Static<typeof UsageQuery>['by']) => ({
  ...(period !== undefined && { period }),
  ...(by && { [by]: key ?? null }),
  ...(isOthers && { others: true }),
  ...viewSums(sums),
})

const UsageQuery = Type.Object({
  by: Type.Optional(Type.Enum([...usageKeys], { description: 'What the usage is added up by.' })),
  per: Type.Optional(Type.Enum([...usagePeriods], { description: 'The length of a period.' })),
  since: Type.Optional(
    Type.String({
      description:
        'The first day, such as `2026-11-01`, or a time with its offset, or how long ago that is. `7d` begins six days ' +
        'before today. Default: `30d`.',
    }),
  ),
  until: Type.Optional(Type.String({ description: 'The last day, or a time, which is excluded. Default: now.' })),
})

const keyFields = Object.fromEntries(
  usageKeys.map((key) => [
    key,
    Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        ...(key === 'session' && sealedKey),
        description: `With \`by=${key}\`. Null: the usage of all else, or of the others together.`,
      }),
    ),
  ]),
)

const UsageReport = Type.Object({
  since: Type.String(),
  until: Type.Optional(Type.String()),
  timezone: Type.String({ description: 'The time zone of days and months.' }),
  prices: Type.String({ description: 'The price table, with its version.' }),
  total: UsageFields,
  items: Type.Array(
    Type.Object({
      period: Type.Optional(
        Type.String({
          description: 'With `per`: `2026-11-24T13:00+01:00` (hour), `2026-11-24` (day) or `2026-11` (month).',
        }),
      ),
      ...keyFields,
      others: Type.Optional(Type.Literal(true, { description: 'The sum of all but the 100 that cost most.' })),
      ...UsageFields.properties,
    }),
    { description: 'By period, and in each what cost most first.' },
  ),
})
