// Adds up the stored usage of models by what it was for and by hours, days or months of a time zone.
import { GatewayError } from '../errors.ts'
import type { SessionUsageRow, Store, Timestamp, UsageRow, UsageSums } from '../store/store.ts'

/** What usage is added up by, and how a row belongs to it. Null: usage of something else. */
const keys = {
  agent: ({ agentId }: UsageRow) => agentId,
  kind: ({ kind }: UsageRow) => kind,
  hook: ({ kind, name }: UsageRow) => (kind === 'hook' ? name : null),
  channel: ({ kind, name }: UsageRow) => (kind === 'channel' ? name : null),
  model: ({ model }: UsageRow) => model,
} as const

export const usageKeys = ['agent', 'kind', 'hook', 'channel', 'model', 'session'] as const
export type UsageKey = (typeof usageKeys)[number]

export const usagePeriods = ['hour', 'day', 'month'] as const
export type UsagePeriod = (typeof usagePeriods)[number]

/** Whose usage a row is. */
export type UsageOwner = Partial<Pick<UsageRow, 'agentId'> & Pick<SessionUsageRow, 'sessionKey'>>

export interface UsageQuery {
  /** Whether the report includes the usage of this agent or session. */
  isIncluded(owner: UsageOwner): boolean
  by?: UsageKey | undefined
  per?: UsagePeriod | undefined
  from: UsageBound
  until: UsageBound
  /** IANA time zone. Absent: the one of the machine. */
  timezone: string | undefined
}

/** A time, or a day of the time zone, which is included. */
export type UsageBound = { at: Timestamp } | { day: string }

/** The usage of one key in one period. */
export interface UsageItem {
  period?: string
  key?: string | null
  /** True: the sum of all keys beyond those that used most. */
  isOthers?: true
  sums: UsageSums
}

export interface UsageReport {
  total: UsageSums
  /** By period, and in each the keys that cost most first. */
  items: UsageItem[]
}

type UsageStore = Pick<Store, 'listUsage' | 'listSessionUsage'>

/** So many keys have items of their own. */
const maxKeys = 100
/** With more items, the keys that used least are added up while the rows are read, so that memory stays small. */
const maxItems = 20_000

/** The sums of a key by period. */
type Group = Map<string, UsageSums>

export async function reportUsage(store: UsageStore, query: UsageQuery): Promise<UsageReport> {
  const { by, per, timezone } = query
  const labelOf = createLabels(per, timezone)
  const groups = new Map<string | null, Group>()
  const others: Group = new Map()
  const total = createSums()
  let items = 0
  for await (const { key, ...row } of readRows(store, query)) {
    addSums(total, row)
    if (addTo(groupOf(groups, key), labelOf(row.at), row)) items++
    if (items > maxItems) items = shrink(groups, others)
  }
  foldSmallest(groups, others, maxKeys)
  const itemsOf = (group: Group, fields: Omit<UsageItem, 'sums'>): UsageItem[] =>
    Array.from(group, ([period, sums]) => ({ ...(per && { period }), ...fields, sums }))
  const own = [...groups].flatMap(([key, group]) => itemsOf(group, by ? { key } : {}))
  return { total, items: [...own, ...itemsOf(others, { key: null, isOthers: true })].toSorted(byPeriodAndCost) }
}

type KeyedRow = UsageSums & { at: Timestamp; key: string | null }

/** No time zone is further away from UTC. */
const maxOffsetMs = 14 * 60 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000

async function* readRows(
  store: UsageStore,
  { by, from, until, timezone, isIncluded }: UsageQuery,
): AsyncIterable<KeyedRow> {
  const dayOf = createLabels('day', timezone)
  const range = {
    from: 'at' in from ? from.at : Date.parse(from.day) - maxOffsetMs,
    until: 'at' in until ? until.at : Date.parse(until.day) + dayMs + maxOffsetMs,
  }
  const isInside = (at: Timestamp): boolean =>
    ('at' in from || dayOf(at) >= from.day) && ('at' in until || dayOf(at) <= until.day)
  if (by === 'session') {
    const rows = readAll((part: { after?: SessionUsageRow | undefined; limit: number }) =>
      store.listSessionUsage({ ...range, ...part }),
    )
    for await (const { sessionKey, ...row } of rows)
      if (isInside(row.at) && isIncluded({ sessionKey })) yield { ...row, key: sessionKey }
  } else {
    const keyOf = by ? keys[by] : () => null
    const rows = readAll((part: { after?: UsageRow | undefined; limit: number }) =>
      store.listUsage({ ...range, ...part }),
    )
    for await (const row of rows) if (isInside(row.at) && isIncluded(row)) yield { ...row, key: keyOf(row) }
  }
}

/** Small parts, so that the store has time for other callers in between. */
const rowsPerPart = 500

async function* readAll<Item>(
  read: (part: { after?: Item | undefined; limit: number }) => Promise<Item[]>,
): AsyncIterable<Item> {
  for (let after: Item | undefined, isLast = false; !isLast;) {
    const rows = await read({ after, limit: rowsPerPart })
    yield* rows
    isLast = rows.length < rowsPerPart
    after = rows.at(-1)
  }
}

// ── Periods ──────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns a function that names the period of a time: `2026-11-24`, `2026-11` or `2026-11-24T13:00+01:00`. The offset
 * tells the two hours apart that a change of the clock repeats.
 */
export function createLabels(per: UsagePeriod | undefined, timezone: string | undefined): (at: Timestamp) => string {
  if (per === undefined) return () => ''
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  })
  let last: { at: Timestamp; label: string } | undefined
  // The rows of one quarter-hour follow each other.
  return (at) => {
    if (last?.at !== at) last = { at, label: nameOf(per, format.formatToParts(at)) }
    return last.label
  }
}

function nameOf(per: UsagePeriod, parts: readonly Intl.DateTimeFormatPart[]): string {
  const {
    year,
    month,
    day,
    hour,
    timeZoneName = '',
  } = Object.fromEntries(parts.map(({ type, value }) => [type, value])) as Record<string, string>
  if (per === 'month') return `${year}-${month}`
  if (per === 'day') return `${year}-${month}-${day}`
  return `${year}-${month}-${day}T${hour}:00${timeZoneName.replace('GMT', '') || '+00:00'}`
}

// ── Sums ─────────────────────────────────────────────────────────────────────────────────────────

const createSums = (): UsageSums => ({
  steps: 0,
  unpricedSteps: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: 0,
})

function addSums(sums: UsageSums, added: UsageSums): void {
  for (const name of Object.keys(sums) as (keyof UsageSums)[]) sums[name] += added[name]
}

function groupOf(groups: Map<string | null, Group>, key: string | null): Group {
  const group = groups.get(key) ?? new Map<string, UsageSums>()
  groups.set(key, group)
  return group
}

/** @returns whether it is the first usage of the period */
function addTo(group: Group, period: string, added: UsageSums): boolean {
  const known = group.get(period)
  const sums = known ?? createSums()
  if (!known) group.set(period, sums)
  addSums(sums, added)
  return !known
}

/** @returns how many items are left. Throws if these are too many for a report. */
function shrink(groups: Map<string | null, Group>, others: Group): number {
  foldSmallest(groups, others, maxKeys)
  const left = [others, ...groups.values()].reduce((count, group) => count + group.size, 0)
  if (left < maxItems / 2) return left
  throw new GatewayError(
    'invalid_request',
    `The report would have more than ${left} items; choose a later since, or a longer per.`,
  )
}

/** Keeps so many keys, and adds the others up. */
function foldSmallest(groups: Map<string | null, Group>, others: Group, kept: number): void {
  if (groups.size <= kept) return
  const sized = Array.from(groups, ([key, group]) => {
    const sums = createSums()
    for (const one of group.values()) addSums(sums, one)
    return { key, group, sums }
  })
  for (const { key, group } of sized.toSorted((a, b) => byCost(a.sums, b.sums)).slice(kept)) {
    for (const [period, sums] of group) addTo(others, period, sums)
    groups.delete(key)
  }
}

const tokensOf = ({ inputTokens, outputTokens }: UsageSums): number => inputTokens + outputTokens

const byCost = (a: UsageSums, b: UsageSums): number => b.costNanoUsd - a.costNanoUsd || tokensOf(b) - tokensOf(a)

function byPeriodAndCost(a: UsageItem, b: UsageItem): number {
  const [one = '', other = ''] = [a.period, b.period]
  if (one !== other) return one < other ? -1 : 1
  return Number(a.isOthers ?? false) - Number(b.isOthers ?? false) || byCost(a.sums, b.sums)
}
