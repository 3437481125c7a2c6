// Finds what has used most of a budget: the hook or channel, the agent and the model, each with its share.
import type { Store, UsageRow } from '../store/store.ts'
import type { Tally } from './budget.ts'

/** What has used most, of each kind. */
export type Spenders = readonly { what: string; name: string; percent: number }[]

const pageSize = 500
/** Usage is added up over this time, so that a window may begin within. */
const periodMs = 15 * 60 * 1000

export async function findSpenders(store: Pick<Store, 'listUsage'>, tally: Tally): Promise<Spenders> {
  const { start, end: until } = tally.window
  const from = start - (start % periodMs)
  const rows: UsageRow[] = []
  for (let page: UsageRow[] | undefined; page === undefined || page.length === pageSize;) {
    page = await store.listUsage({ from, until, after: rows.at(-1), limit: pageSize })
    rows.push(...page)
  }
  const counted = rows.filter((row) => isOf(tally, row))
  // Models without a price cost nothing, so that only their tokens can be compared.
  const isPriced = tally.budget.limits.nanoUsd !== undefined && counted.some(({ costNanoUsd }) => costNanoUsd > 0)
  const amountOf = ({ costNanoUsd, inputTokens, outputTokens }: UsageRow): number =>
    isPriced ? costNanoUsd : inputTokens + outputTokens
  return [
    findMost(counted, amountOf, ({ kind, name }) => (name === '' ? undefined : { what: kind, name })),
    findMost(counted, amountOf, ({ agentId }) => ({ what: 'agent', name: agentId })),
    findMost(counted, amountOf, ({ model }) => ({ what: 'model', name: model })),
  ].flatMap((found) => found ?? [])
}

/** Whether the usage counts against the budget. */
function isOf({ budget: { subject } }: Tally, { agentId, kind, name }: UsageRow): boolean {
  if (subject.kind === 'all') return true
  if (subject.kind === 'agent') return agentId === subject.name
  if (subject.kind === 'channel') return kind === 'channel' && name === subject.name
  return kind === 'hook' && (subject.kind !== 'hook' || subject.path === undefined || name === subject.path)
}

function findMost(
  rows: readonly UsageRow[],
  amountOf: (row: UsageRow) => number,
  nameOf: (row: UsageRow) => { what: string; name: string } | undefined,
): Spenders[number] | undefined {
  const sumOf = (some: readonly UsageRow[]): number => some.reduce((sum, row) => sum + amountOf(row), 0)
  const total = sumOf(rows)
  const named = rows.filter((row) => nameOf(row) !== undefined)
  const groups = [...Map.groupBy(named, (row) => `${nameOf(row)?.what} ${nameOf(row)?.name}`).values()]
  const [most] = groups.toSorted((a, b) => sumOf(b) - sumOf(a))
  const found = most?.[0] && nameOf(most[0])
  return found && total > 0 ? { ...found, percent: Math.round((100 * sumOf(most)) / total) } : undefined
}
