// The command `budgets`: shows the budgets and what is left of them.
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'budgets',
  description: 'Show the budgets, what was used of each in its window, and when it opens again.',
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['budgets'],
  run: async (input, context) => (await import('./budgets.ts')).showBudgets(input, context),
})
