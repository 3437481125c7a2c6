// The error of work that is refused because a budget is used up.
import { GatewayError } from '../errors.ts'
import type { Timestamp } from '../store/store.ts'
import { describeOpening, describeUse, findReachedLimit, type Tally } from './budget.ts'

export class BudgetError extends GatewayError {
  readonly key: string
  /** When the window of the budget began. */
  readonly window: Timestamp
  /** How long until the next window, in milliseconds. */
  readonly waitMs: number

  constructor(tally: Tally, { now, timezone, runs }: { now: Timestamp; timezone: string; runs: number }) {
    const waitMs = Math.max(0, tally.window.end - now)
    super('budget_exceeded', describeLimit(tally, { timezone, runs }), { retryAfter: Math.ceil(waitMs / 1000) })
    this.key = tally.budget.key
    this.window = tally.window.start
    this.waitMs = waitMs
  }
}

/** Names the budget, what was used of it in which window, and when it opens again. */
function describeLimit(tally: Tally, { timezone, runs }: { timezone: string; runs: number }): string {
  const unit = findReachedLimit(tally, runs) ?? 'runs'
  const { key } = tally.budget
  return `The budget ${key} is used up: ${describeUse(tally, unit)}. ${describeOpening(tally, timezone)}`
}
