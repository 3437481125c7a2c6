// The budgets of a configuration, what was used of each, and the sentences about them.
import { parsePeriod } from '../config/budget-period.ts'
import { type BudgetSubject, budgetTimezone, listBudgets } from '../config/budgets.ts'
import { formatUsd } from '../kit/format-usd.ts'
import type { Config } from '../config/schema/schema.ts'
import { dotted } from '../typebox.ts'
import { budgetScopes, type BudgetUsage, type RunLimit } from '../store/store.ts'
import { createFindWindow, type FindWindow, type Window } from './window.ts'

export interface Budget {
  /** Its configuration key. A budget of the defaults adds the agent. */
  key: string
  subject: BudgetSubject
  /** What counts against it, as the store has it. */
  scope: string
  /** As in the configuration. */
  per: string
  periodMs: number
  limits: { [unit in Unit]?: number | undefined }
  onLimit: 'refuse' | 'wait'
}

/** The budgets of a configuration. */
export interface BudgetPlan {
  budgets: readonly Budget[]
  /** Without one in the configuration it is that of the machine, which takes 15 milliseconds to find out. */
  timezone(): string
  findWindow: FindWindow
}

export function resolveBudgets(config: Config): BudgetPlan {
  const timezone = (): string => budgetTimezone(config)
  const budgets = listBudgets(config).map(({ keys, subject, limit }): Budget => {
    const { per, runs, tokens, usd, onLimit } = limit
    return {
      key: keys[1] === 'defaults' && 'name' in subject ? `${dotted(keys)} (agent ${subject.name})` : dotted(keys),
      subject,
      scope: scopeOf(subject),
      per,
      periodMs: parsePeriod(per) ?? Infinity,
      limits: { runs, tokens, nanoUsd: usd === undefined ? undefined : Math.round(usd * nanosPerUsd) },
      onLimit,
    }
  })
  return { budgets, timezone, findWindow: createFindWindow(timezone) }
}

const nanosPerUsd = 1_000_000_000

const scopeOf = (subject: BudgetSubject): string =>
  'name' in subject ? budgetScopes[subject.kind](subject.name) : budgetScopes[subject.kind]

/** What was used of a budget in its window. */
export interface Tally {
  budget: Budget
  window: Window
  used: BudgetUsage
}

const units = ['runs', 'tokens', 'nanoUsd'] as const
type Unit = (typeof units)[number]

/** The largest share of a limit that is used. It is computed for each webhook. */
export function findShare({ budget: { limits }, used }: Tally): number {
  const { runs = Infinity, tokens = Infinity, nanoUsd = Infinity } = limits
  return Math.max(used.runs / runs, used.tokens / tokens, used.nanoUsd / nanoUsd)
}

/** The limit of which most is used. */
export const findTightest = (tally: Tally): Unit =>
  units.find((unit) => tally.used[unit] / (tally.budget.limits[unit] ?? Infinity) === findShare(tally)) ?? 'runs'

/**
 * The limit that is reached, if one is.
 * @param runs how many runs would be added. 0: a run that goes on.
 */
export function findReachedLimit({ budget: { limits }, used }: Tally, runs: number): Unit | undefined {
  // A run that has started counts already.
  if (runs > 0 && used.runs + runs > (limits.runs ?? Infinity)) return 'runs'
  if (used.tokens >= (limits.tokens ?? Infinity)) return 'tokens'
  return used.nanoUsd >= (limits.nanoUsd ?? Infinity) ? 'nanoUsd' : undefined
}

/** The limits of runs, for the store. A tally that is listed several times counts as many runs. */
export function limitsOf(tallies: readonly Tally[]): RunLimit[] {
  const limits = new Map<Tally, RunLimit>()
  for (const tally of tallies) {
    const { budget, window } = tally
    const { runs } = budget.limits
    if (runs === undefined) continue
    const added = (limits.get(tally)?.added ?? 0) + 1
    limits.set(tally, { scope: budget.scope, from: window.start, to: window.end, runs, added })
  }
  return [...limits.values()]
}

/** What was used of what, in which window. */
export function describeUse({ budget: { limits, per }, used }: Tally, unit: Unit): string {
  const limit = limits[unit] ?? 0
  if (unit === 'nanoUsd')
    return `${formatUsd(used.nanoUsd / nanosPerUsd)} of ${formatUsd(limit / nanosPerUsd)} per ${per}`
  return `${used[unit]} of ${limit} ${limit === 1 ? unit.slice(0, -1) : unit} per ${per}`
}

export const describeOpening = (tally: Tally, timeZone: string): string =>
  `It opens again at ${formatEnd(tally, timeZone)}.`

/** The end of the window in the time zone of the budgets. */
export function formatEnd({ window }: Tally, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  return `${format.format(window.end)} (${timeZone})`
}
