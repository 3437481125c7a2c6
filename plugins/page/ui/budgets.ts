// What the page says of a budget: how far each of its limits is used.
import type { Item } from '../api/client.ts'
import { formatCost, formatCount } from './format.ts'

export type Budget = Item<'GET /api/budgets'>

export interface Use {
  /** Such as `$3.20 of $5.00`. */
  text: string
  /** 1 is the whole limit; it may be exceeded. */
  share: number
}

/** What a budget limits. */
export function subjectOf({ subject: { kind, name } }: Pick<Budget, 'subject'>): string {
  if (name !== undefined) return `${kind} ${name}`
  return kind === 'hooks' ? 'all webhooks' : 'everything'
}

/** From this share on, the gateway tells its operators. */
export const nearShare = 0.8

export function usesOf({ limits, used }: Pick<Budget, 'limits' | 'used'>): Use[] {
  const use = (key: 'runs' | 'tokens' | 'usd', format: (amount: number) => string, unit = ''): Use[] => {
    const limit = limits[key]
    if (limit === undefined) return []
    const amount = used[key] ?? 0
    return [{ text: `${format(amount)} of ${format(limit)}${unit}`, share: limit > 0 ? amount / limit : 1 }]
  }
  return [...use('usd', formatCost), ...use('tokens', formatCount, ' tokens'), ...use('runs', formatCount, ' runs')]
}

export const formatShare = (share: number): string => `${Math.floor(share * 100)} %`
