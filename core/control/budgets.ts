// The endpoint that shows the budgets.
import type { Budgets } from '../budgets/budgets.ts'
import { BudgetView, viewBudget } from '../budgets/view.ts'
import type { BudgetSubject } from '../config/budgets.ts'
import { reaches } from '../http/access.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

/** The agent whose use alone the budget shows. What counts against the others is of several agents. */
const agentOf = (subject: BudgetSubject): string | undefined => (subject.kind === 'agent' ? subject.name : undefined)

interface BudgetsDeps {
  budgets: Pick<Budgets, 'list' | 'timezone'>
}

export const budgetEndpoints = ({ budgets }: BudgetsDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/budgets',
    access: { needs: 'read', scope: 'agents' },
    schema: {
      summary: 'Lists the budgets, with what was used of each in its window.',
      response: { 200: BudgetList },
    },
    handle: async ({ principal }) => {
      const items = (await budgets.list()).filter(({ budget }) => reaches(principal, agentOf(budget.subject)))
      return { timezone: budgets.timezone(), items: items.map(viewBudget) }
    },
  }),
]

const BudgetList = Type.Object({
  timezone: Type.String({ description: 'The time zone in whose midnight windows of days begin.' }),
  items: Type.Array(BudgetView),
})
