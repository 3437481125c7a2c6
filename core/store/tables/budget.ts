// What budgets count: runs, tokens and money, added up by what they count against and by the time. They are counted in
// the transaction that stores the run or the step.
import type { Origin, RunSpec } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction, Value } from '../transaction.ts'

export const budgetWrites = { purgeBudgetUsage }
export const budgetReads = { sumBudgetUsage }

export interface BudgetUsage {
  runs: number
  tokens: number
  /** Money, in billionths of a dollar. */
  nanoUsd: number
}

/** Usage is added up over this time. The windows of budgets begin and end at its multiples. */
const periodMs = 5 * 60 * 1000

/**
 * What a run counts against. A run that another one started counts against the webhook or channel that the work goes
 * back to.
 */
export function budgetScopesOf({
  agentId,
  spec,
}: {
  agentId: string
  spec: Pick<RunSpec, 'origin'>
}): readonly string[] {
  const { kind, name, mapping } = spec.origin.root ?? spec.origin
  const scopes = [budgetScopes.all, budgetScopes.agent(agentId)]
  if (kind === 'channel') scopes.push(budgetScopes.channel(name))
  if (kind === 'hook') scopes.push(budgetScopes.hooks)
  if (kind === 'hook' && mapping !== undefined) scopes.push(budgetScopes.hook(mapping))
  return scopes
}

export const budgetScopes = {
  all: 'all',
  hooks: 'hooks',
  agent: (id: string) => `agent ${id}`,
  /** A mapping or preset. */
  hook: (id: string) => `hook ${id}`,
  channel: (name: string) => `channel ${name}`,
}

/** The webhook or channel that work goes back to, for the runs that it starts. */
export const rootOf = ({ kind, name, mapping, root }: Origin): Origin['root'] =>
  root ??
  (kind === 'hook' || kind === 'channel' ? { kind, name, ...(mapping !== undefined && { mapping }) } : undefined)

/**
 * Runs and steps are counted in rows of their own, because a database that several gateways share accepts runs while
 * it stores steps.
 */
export const usageInsertion: Insertion = {
  table: 'budget_usage',
  columns: { scope: 'text', at: 'integer', source: 'text', runs: 'integer', tokens: 'integer', nano_usd: 'integer' },
  onConflict: `
    ON CONFLICT (scope, at, source) DO UPDATE SET runs = budget_usage.runs + excluded.runs,
      tokens = budget_usage.tokens + excluded.tokens, nano_usd = budget_usage.nano_usd + excluded.nano_usd`,
  keyColumns: 3,
  atEnd: 'sum',
  split: ([scopes, ...counts]) =>
    String(scopes)
      .split(separator)
      .map((scope): Row => ([scope] as Value[]).concat(counts)),
}

/** Separates the scopes of a row, until it is inserted as a row for each. No name contains it. */
const separator = '\0'

const periodOf = (at: Timestamp): Timestamp => at - (at % periodMs)

export const joinScopes = (scopes: readonly string[]): string => scopes.join(separator)

/** The row that counts a run against its joined scopes. */
export const toRunUsageRow = (scopes: string, at: Timestamp): Row => [scopes, periodOf(at), 'run', 1, 0, 0]

/** Counts a run that may start from now on. */
export async function countRun(
  tx: Transaction,
  run: Parameters<typeof budgetScopesOf>[0],
  at: Timestamp,
): Promise<void> {
  await tx.insert(usageInsertion, [toRunUsageRow(joinScopes(budgetScopesOf(run)), at)])
}

/** Where the usage of steps is counted. */
export interface UsageCount {
  scopes: readonly string[]
  /** The time of the store, which all gateways share. */
  at: Timestamp
}

/** The row that counts what was used by steps. */
export const toStepUsageRow = ({ scopes, at }: UsageCount, { tokens, nanoUsd }: BudgetUsage): Row => [
  joinScopes(scopes),
  periodOf(at),
  'step',
  0,
  tokens,
  nanoUsd,
]

/** A stretch of time, the end exclusive. */
export interface UsageSpan {
  scope: string
  from: Timestamp
  to: Timestamp
}

const sumSql = `
  SELECT CAST(coalesce(sum(runs), 0) AS BIGINT) AS runs, CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens,
    CAST(coalesce(sum(nano_usd), 0) AS BIGINT) AS "nanoUsd"
  FROM budget_usage WHERE scope = ? AND at >= ? AND at < ?`

/** What was used in each of these stretches of time. */
export async function sumBudgetUsage(tx: Transaction, spans: readonly UsageSpan[]): Promise<BudgetUsage[]> {
  const sums = spans.map(async ({ scope, from, to }): Promise<BudgetUsage> => {
    const [sum] = await tx.all<BudgetUsage>(sumSql, scope, from, to)
    return sum ? { ...sum } : { runs: 0, tokens: 0, nanoUsd: 0 }
  })
  return await Promise.all(sums)
}

/** How many runs may be counted in a stretch of time. */
export interface RunLimit extends UsageSpan {
  runs: number
  /** How many runs are added. */
  added: number
}

/**
 * Reads what is left of some limits. The caller keeps others from counting runs until the transaction ends.
 * @returns a function that adds runs. If it returns false, one of its limits had no room, and none were added.
 */
export async function readRoom(
  tx: Transaction,
  limits: readonly RunLimit[],
): Promise<(limits: readonly RunLimit[]) => boolean> {
  const first = new Map(limits.map((limit) => [keyOf(limit), limit]))
  const spans = [...first.values()]
  const sums = await sumBudgetUsage(tx, spans)
  const used = new Map(spans.map((limit, index) => [keyOf(limit), sums[index]?.runs ?? 0]))
  const usedOf = (limit: RunLimit): number => used.get(keyOf(limit)) ?? 0
  return (some) => {
    if (some.some((limit) => usedOf(limit) + limit.added > limit.runs)) return false
    for (const limit of some) used.set(keyOf(limit), usedOf(limit) + limit.added)
    return true
  }
}

const keyOf = ({ scope, from, to }: RunLimit): string => `${from} ${to} ${scope}`

/** The key of a row. */
export type UsageKey = readonly [scope: string, at: Timestamp, source: string]

/** The most rows that are looked at in one step of the retention. */
const maxRows = 500
const pageSql = `
  SELECT scope, at, source FROM budget_usage WHERE (scope, at, source) > (?, ?, ?) ORDER BY scope, at, source LIMIT ?`
const deleteSql = 'DELETE FROM budget_usage WHERE scope = ? AND at = ? AND source = ?'

/** Deletes the old rows among a few. @returns the key of the last one; undefined: there are no more */
async function purgeBudgetUsage(
  tx: Transaction,
  { before, after = ['', 0, ''] }: { before: Timestamp; after?: UsageKey | undefined },
): Promise<UsageKey | undefined> {
  const rows = await tx.all<{ scope: string; at: Timestamp; source: string }>(pageSql, ...after, maxRows)
  for (const { scope, at, source } of rows) if (at < before) await tx.run(deleteSql, scope, at, source)
  const last = rows[maxRows - 1]
  return last && [last.scope, last.at, last.source]
}
