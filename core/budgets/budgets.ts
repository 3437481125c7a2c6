// Budgets: refuses work when one is used up, or lets it wait for the next window.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Alerts } from './alerts.ts'
import type { BudgetPlan, Tally } from './budget.ts'
import { type BudgetCheck, createBudgetCheck } from './check.ts'
import { type CommitFeeds, countCommits, type Counted, type CountsDeps, createCounts } from './counts.ts'
import { createRelease, type ReleaseDeps } from './release.ts'

export interface Budgets extends BudgetCheck {
  /** Puts the budgets of a configuration in force, when it has read what was used of them. */
  use(plan: BudgetPlan): Promise<void>
  /** The budgets in force, with what was used of each. */
  list(): Promise<readonly Tally[]>
  /** The budgets that a run would count against. */
  listFor(run: Counted): Promise<readonly Tally[]>
  timezone(): string
  start(): void
  close(): Promise<void>
}

interface BudgetsDeps extends CountsDeps, CommitFeeds, Omit<ReleaseDeps, 'counts' | 'outage'> {
  store: CountsDeps['store'] & ReleaseDeps['store']
  alerts: Alerts
  /** True: other gateways count in the same budgets. */
  isShared: boolean
  log: Log
}

/** How often the counts are read again: those of other gateways, and after the clock was set. */
const refreshMs = 2_000

const emptyPlan: BudgetPlan = { budgets: [], timezone: () => 'UTC', findWindow: () => ({ start: 0, end: 0 }) }

export function createBudgets(deps: BudgetsDeps): Budgets {
  const { alerts } = deps
  let counts = createCounts(emptyPlan, deps)
  let timer: NodeJS.Timeout | undefined
  const outage = createOutage(deps.log, {
    failed: 'budgets could not be read; it is tried again',
    worked: 'budgets are read again',
  })
  const shareRun = countCommits(() => counts, deps)
  const release = createRelease({ ...deps, counts: () => counts, outage })
  const check = createBudgetCheck({ ...deps, counts: () => counts, shareRun, onWaiting: release.watch })

  return {
    ...check,
    timezone: () => counts.plan.timezone(),
    use: async (plan) => {
      const next = createCounts(plan, deps)
      await next.refresh()
      counts = next
      alerts.reset()
      release.watch()
    },
    list: () => counts.refresh(),
    listFor: (run) => counts.refresh(counts.talliesOf(run)),
    start: () => {
      timer = setInterval(() => {
        counts.refresh().then(() => void outage.worked(), outage.failed)
        if (counts.tallies.some(({ budget, hasWaiting }) => hasWaiting || budget.onLimit === 'wait')) release.watch()
      }, refreshMs).unref()
      release.watch()
    },
    close: async () => {
      clearInterval(timer)
      await release.close()
      await alerts.close()
    },
  }
}
