// The state of a budget as the API shows it: its limits, what was used and is left of each, and when it opens again.
import type { BudgetSubject } from '../config/budgets.ts'
import { type Static, Type } from '../typebox.ts'
import { type Budget, findReachedLimit, type Tally } from './budget.ts'

const Time = (description: string) => Type.String({ format: 'date-time', description })

const amounts = (description: string) =>
  Type.Object(
    { runs: Type.Optional(Type.Integer()), tokens: Type.Optional(Type.Integer()), usd: Type.Optional(Type.Number()) },
    { description },
  )

export const BudgetView = Type.Object({
  key: Type.String({ description: 'Its key in the configuration.' }),
  subject: Type.Object(
    { kind: Type.Enum(['all', 'hooks', 'agent', 'hook', 'channel']), name: Type.Optional(Type.String()) },
    { description: 'What counts against it. `hook` is a mapping or preset.' },
  ),
  per: Type.String({ description: 'The length of the window, as configured.' }),
  onLimit: Type.Enum(['refuse', 'wait']),
  startedAt: Time('When the window began.'),
  endsAt: Time('When the window ends, and the next one begins.'),
  limits: amounts('The limits that are configured.'),
  used: amounts('What was used in the window.'),
  left: amounts('What is left of each limit.'),
  isUsedUp: Type.Boolean({ description: 'Whether further webhooks are refused, or wait.' }),
})
export type BudgetView = Static<typeof BudgetView>

export function viewBudget(tally: Tally): BudgetView {
  const { budget, window, used } = tally
  const { key, subject, per, onLimit, limits } = budget
  return {
    key,
    subject: viewSubject(subject),
    per,
    onLimit,
    startedAt: new Date(window.start).toISOString(),
    endsAt: new Date(window.end).toISOString(),
    limits: viewAmounts(limits),
    used: viewAmounts(used),
    left: viewAmounts({
      ...(limits.runs !== undefined && { runs: Math.max(0, limits.runs - used.runs) }),
      ...(limits.tokens !== undefined && { tokens: Math.max(0, limits.tokens - used.tokens) }),
      ...(limits.nanoUsd !== undefined && { nanoUsd: Math.max(0, limits.nanoUsd - used.nanoUsd) }),
    }),
    isUsedUp: findReachedLimit(tally, 1) !== undefined,
  }
}

const viewSubject = (subject: BudgetSubject): BudgetView['subject'] =>
  'name' in subject ? { kind: subject.kind, name: subject.name } : { kind: subject.kind }

const viewAmounts = ({ runs, tokens, nanoUsd }: Budget['limits']): BudgetView['used'] => ({
  ...(runs !== undefined && { runs }),
  ...(tokens !== undefined && { tokens }),
  ...(nanoUsd !== undefined && { usd: nanoUsd / 1e9 }),
})
