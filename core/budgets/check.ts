// Checks the budgets when work is accepted, by the counts in memory, and before each call of a model, by the store.
import type { BudgetWait, NewRun, RunLimit, Timestamp } from '../store/store.ts'
import { findReachedLimit, limitsOf, type Tally } from './budget.ts'
import { BudgetError } from './budget-error.ts'
import { type Counted, type Counts, type LiveTally, oneRun } from './counts.ts'

export interface BudgetCheck {
  /**
   * Returns the runs, with `waiting` those that may not start yet, and counts them as on their way until `settle` is
   * called. Throws a `BudgetError` if they are refused.
   */
  reserve(runs: readonly NewRun[]): Promise<Reservation> | Reservation
  /** Reads what was used of the budgets of these runs, because the store has refused them. */
  reread(runs: readonly NewRun[]): Promise<void>
  /** Why a run must not call its model again. Reads the store. */
  findStop(run: Counted & Pick<NewRun, 'kind'>): Promise<BudgetStop | undefined>
}

export interface Reservation {
  runs: readonly NewRun[]
  /** What the store checks when it stores them, because other gateways count in the same budgets. */
  limits?: readonly RunLimit[] | undefined
  /** Call it once, when the runs are stored, or when they are not. */
  settle(isStored: boolean): void
}

export interface BudgetStop {
  error: BudgetError
  /** Present if a run that has done nothing yet waits instead. */
  wait?: BudgetWait
}

interface BudgetCheckDeps {
  counts(): Counts
  /** True: other gateways count in the same budgets. */
  isShared: boolean
  /** Tells other gateways about a run that is stored. */
  shareRun(run: NewRun): void
  /** Called when runs wait for a budget. */
  onWaiting(): void
  now(): Timestamp
}

/** A refusal is based on a count that was read at most this long ago. */
const maxAgeMs = 250

export function createBudgetCheck({ counts, isShared, shareRun, onWaiting, now }: BudgetCheckDeps): BudgetCheck {
  const createError = (tally: Tally, runs = 0): BudgetError =>
    new BudgetError(tally, { now: now(), timezone: counts().plan.timezone(), runs })

  /** Each budget once for each run. For one run, which is usual, this must cost next to nothing. */
  const listTallies = (runs: readonly NewRun[]): readonly LiveTally[] =>
    runs.length === 1 ? counts().talliesOf(runs[0] as NewRun) : runs.flatMap(counts().talliesOf)

  /** Runs that come at the same time must not exceed the limit together. */
  function hold(runs: readonly NewRun[]): Reservation & { tallies: readonly LiveTally[] } {
    const [tallies, reservedIn] = [listTallies(runs), counts()]
    for (const tally of tallies) tally.reserved++
    return {
      runs,
      tallies,
      settle: (isStored) => {
        for (const tally of tallies) tally.reserved--
        if (!isStored) return
        // A reload may have replaced the tallies.
        counts().add(counts() === reservedIn ? tallies : listTallies(runs), oneRun)
        runs.forEach(shareRun)
      },
    }
  }

  /** The budgets that do not let these runs start, as far as is known. */
  function findClosed({ runs, tallies }: ReturnType<typeof hold>): LiveTally[] {
    const at = now()
    return tallies.filter((tally) => {
      counts().enterWindow(tally, at)
      if (tally.readAt === -Infinity || findReachedLimit(tally, tally.reserved) !== undefined) return true
      return tally.hasWaiting && runs.every(canWait)
    })
  }

  function reserve(runs: readonly NewRun[]): Promise<Reservation> | Reservation {
    const held = hold(runs)
    const closed = findClosed(held)
    if (closed.length === 0) return withLimits(held)
    const stale = closed.filter(({ readAt }) => performance.now() - readAt >= maxAgeMs)
    if (stale.length === 0) return refuseOrWait(held, closed)
    held.settle(false)
    return reserveAfterRead(runs, counts().refresh(stale))
  }

  async function reserveAfterRead(runs: readonly NewRun[], reading: Promise<unknown>): Promise<Reservation> {
    await reading
    const held = hold(runs)
    const closed = findClosed(held).filter(({ readAt }) => readAt !== -Infinity)
    return closed.length > 0 ? refuseOrWait(held, closed) : withLimits(held)
  }

  function withLimits(held: ReturnType<typeof hold>): Reservation {
    const limits = isShared ? limitsOf(held.tallies) : []
    return limits.length > 0 ? { ...held, limits } : held
  }

  function refuseOrWait(held: Reservation, closed: readonly LiveTally[]): Reservation {
    const [{ runs }, { talliesOf }] = [held, counts()]
    const refusing =
      closed.find(({ budget }) => budget.onLimit === 'refuse') ?? (runs.every(canWait) ? undefined : closed[0])
    const error = refusing && createError(refusing, refusing.reserved)
    held.settle(false)
    if (error) throw error
    const plan = (run: NewRun): NewRun => {
      const own = talliesOf(run).filter((tally) => closed.includes(tally))
      return own.length > 0 ? { ...run, waiting: waitFor(own) } : run
    }
    const planned = runs.map(plan)
    const { settle, limits } = withLimits(hold(planned.filter(({ waiting }) => waiting === undefined)))
    for (const tally of closed) tally.hasWaiting = true
    return { runs: planned, limits, settle: (isStored) => (settle(isStored), onWaiting()) }
  }

  return {
    reserve,
    reread: async (runs) => void (await counts().refresh(listTallies(runs))),
    findStop: async (run) => {
      const { talliesOf, refresh } = counts()
      const tallies = await refresh(talliesOf(run))
      const reached = tallies.filter((tally) => findReachedLimit(tally, 0) !== undefined)
      const [first] = reached
      if (!first) return undefined
      const error = createError(first)
      if (!canWait(run) || reached.some(({ budget }) => budget.onLimit === 'refuse')) return { error }
      for (const tally of reached) tally.hasWaiting = true
      onWaiting()
      return { error, wait: waitFor(reached) }
    },
  }
}

/** Only webhooks wait: somebody else would wait for the answer. */
const canWait = ({ kind }: Pick<NewRun, 'kind'>): boolean => kind === 'hook'

/** A run waits for the budget that opens last. */
function waitFor(tallies: readonly Tally[]): BudgetWait {
  const { budget, window } = tallies.reduce((last, one) => (one.window.end > last.window.end ? one : last))
  return { budget: budget.key, until: window.end }
}
