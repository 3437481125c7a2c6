// What was used of each budget in its window: read from the store, and kept up to date by the commits of this gateway and
// the messages of others.
import { type CommitHandlers, type Commits, handleCommit } from '../store/commits/commits.ts'
import type { Replicas, Topic } from '../store/replicas.ts'
import { budgetScopesOf, sumUsageOfSteps } from '../store/store.ts'
import type { BudgetUsage, Step, Store, Timestamp, UsageCount } from '../store/store.ts'
import { Type } from '../typebox.ts'
import type { Alerts } from './alerts.ts'
import type { Budget, BudgetPlan, Tally } from './budget.ts'

/** What a run counts against. */
export type Counted = Parameters<typeof budgetScopesOf>[0]

/** A tally that changes. */
export interface LiveTally extends Tally {
  /** Runs that are on their way into the store. */
  reserved: number
  /** True: webhooks wait for it, so that later ones wait, too. */
  hasWaiting: boolean
  /** When it was read, in monotonic milliseconds. -Infinity: not since the window began. */
  readAt: number
}

/** The budgets of one configuration. */
export interface Counts {
  plan: BudgetPlan
  tallies: readonly LiveTally[]
  /** The budgets that a run counts against. */
  talliesOf(run: Counted): readonly LiveTally[]
  /** Begins another window if that of the tally is over, or if the clock was set. */
  enterWindow(tally: LiveTally, at?: Timestamp): void
  /** Reads what was used of some budgets, by default of all, and returns them. */
  refresh(tallies?: readonly LiveTally[]): Promise<readonly LiveTally[]>
  /** The budgets of these scopes. */
  talliesIn(scopes: readonly string[]): readonly LiveTally[]
  add(tallies: readonly LiveTally[], used: BudgetUsage): void
}

export interface CountsDeps {
  store: Pick<Store, 'sumBudgetUsage'>
  /** The time of the store, which all gateways share. */
  now(): Timestamp
  alerts: Pick<Alerts, 'check'>
}

const unused: BudgetUsage = { runs: 0, tokens: 0, nanoUsd: 0 }

const createTally = (budget: Budget): LiveTally => ({
  budget,
  window: { start: 0, end: 0 },
  used: { ...unused },
  reserved: 0,
  hasWaiting: false,
  readAt: -Infinity,
})

export function createCounts(plan: BudgetPlan, { store, now, alerts }: CountsDeps): Counts {
  const tallies = plan.budgets.map(createTally)
  const byScope = Map.groupBy(tallies, ({ budget }) => budget.scope)
  const byRun = new Map<string, readonly LiveTally[]>()

  function enterWindow(tally: LiveTally, at = now()): void {
    const { start, end } = tally.window
    if (at >= start && at < end) return
    tally.window = plan.findWindow(tally.budget.periodMs, at)
    tally.used = { ...unused }
    tally.readAt = -Infinity
  }

  const talliesIn = (scopes: readonly string[]): LiveTally[] => scopes.flatMap((scope) => byScope.get(scope) ?? [])

  /** The same for all runs of an agent, a hook and a channel. */
  function talliesOf(run: Counted): readonly LiveTally[] {
    if (tallies.length === 0) return tallies
    const { kind, name, mapping = '' } = run.spec.origin.root ?? run.spec.origin
    const key = `${run.agentId} ${kind} ${kind === 'channel' ? name : ''} ${kind === 'hook' ? mapping : ''}`
    const known = byRun.get(key)
    if (known) return known
    const found = talliesIn(budgetScopesOf(run))
    byRun.set(key, found)
    return found
  }

  async function refresh(some: readonly LiveTally[] = tallies): Promise<readonly LiveTally[]> {
    if (some.length === 0) return some
    const at = now()
    for (const tally of some) enterWindow(tally, at)
    const readAt = performance.now()
    const windows = some.map(({ window }) => window)
    const spans = some.map(({ budget, window }) => ({ scope: budget.scope, from: window.start, to: window.end }))
    for (const [index, sum] of (await store.sumBudgetUsage(spans)).entries()) {
      const tally = some[index]
      if (!tally || tally.window !== windows[index] || tally.readAt > readAt) continue
      Object.assign(tally, { used: { ...sum }, readAt })
      // Not after each commit or message, which may count what was read already.
      alerts.check(tally)
    }
    return some
  }

  function add(some: readonly LiveTally[], used: BudgetUsage): void {
    const at = now()
    for (const tally of some) {
      enterWindow(tally, at)
      tally.used.runs += used.runs
      tally.used.tokens += used.tokens
      tally.used.nanoUsd += used.nanoUsd
    }
  }

  return { plan, tallies, talliesOf, talliesIn, enterWindow, refresh, add }
}

/** What another gateway has counted. */
const usageTopic = {
  name: 'budget usage',
  item: Type.Object({
    scopes: Type.Array(Type.String()),
    runs: Type.Integer(),
    tokens: Type.Integer(),
    nanoUsd: Type.Integer(),
  }),
} satisfies Topic

export interface CommitFeeds {
  commits: Pick<Commits, 'subscribe'>
  replicas: Replicas
}

/** Counts what this gateway and others commit. @returns a function that tells the others about a run */
export function countCommits(current: () => Counts, { commits, replicas }: CommitFeeds): (run: Counted) => void {
  const count = (scopes: readonly string[], used: BudgetUsage): void => current().add(current().talliesIn(scopes), used)
  function countAndShare(scopes: readonly string[], used: BudgetUsage): void {
    count(scopes, used)
    if (replicas.isWanted(usageTopic)) replicas.publish(usageTopic, { scopes: [...scopes], ...used })
  }
  const countSteps = ({ counted, steps = [] }: { counted?: UsageCount | undefined; steps?: readonly Step[] }): void =>
    counted && countAndShare(counted.scopes, sumUsageOfSteps(steps))
  const handlers: CommitHandlers = {
    recordSteps: ({ args }) => countSteps(args[1]),
    endRun: ({ args }) => countSteps(args[1]),
  }
  commits.subscribe((call) => {
    if (call.result && current().tallies.length > 0) handleCommit(handlers, call)
  })
  replicas.subscribe(usageTopic, ({ scopes, ...used }) => count(scopes, used))
  return (run) => {
    if (replicas.isWanted(usageTopic)) replicas.publish(usageTopic, { scopes: [...budgetScopesOf(run)], ...oneRun })
  }
}

export const oneRun: BudgetUsage = { runs: 1, tokens: 0, nanoUsd: 0 }
