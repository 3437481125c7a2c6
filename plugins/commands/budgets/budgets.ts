// Shows the budgets as a table.
import { formatUsd } from 'svc-gateway/kit'
import type { CommandContext } from 'svc-gateway/plugin'

interface Amounts {
  runs?: number
  tokens?: number
  usd?: number
}

/** One item of `GET /api/budgets`. */
interface Budget {
  key: string
  per: string
  onLimit: string
  limits: Amounts
  used: Amounts
  left: Amounts
  endsAt: string
  isUsedUp: boolean
}

export async function showBudgets(
  { json }: { json?: boolean },
  { control, terminal }: CommandContext<'control'>,
): Promise<void> {
  const list = await control.get<{ timezone: string; items: readonly Budget[] }>('/api/budgets')
  if (json) return terminal.printJson(list)
  await terminal.printList(list.items, {
    noun: 'budgets',
    columns: {
      BUDGET: ({ key }) => key,
      PER: ({ per }) => per,
      USED: ({ used, limits }) => describeUse(used, limits),
      STATE: ({ isUsedUp, onLimit }) => (isUsedUp ? (onLimit === 'wait' ? 'webhooks wait' : 'used up') : 'open'),
      'NEXT WINDOW': ({ endsAt }) => endsAt,
    },
  })
}

const describeUse = (used: Amounts, limits: Amounts): string =>
  [
    limits.usd === undefined ? [] : `${formatUsd(used.usd ?? 0)} of ${formatUsd(limits.usd)}`,
    limits.tokens === undefined ? [] : `${used.tokens} of ${limits.tokens} tokens`,
    limits.runs === undefined ? [] : `${used.runs} of ${limits.runs} runs`,
  ]
    .flat()
    .join(', ')
