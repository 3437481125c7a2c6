// Lists the budgets of a configuration, each with its key and with what it limits.
import { normalizeHookName } from './hooks-path.ts'
import { agentIdsOf } from './schema/agents.ts'
import type { BudgetConfig } from './schema/budget.ts'
import { presetSection } from './schema/hooks.ts'
import type { Config } from './schema/schema.ts'
import { machineTimezone } from './timezone.ts'

/** What counts against a budget. */
export type BudgetSubject =
  | { kind: 'all' }
  | { kind: 'hooks' }
  | { kind: 'agent' | 'channel'; name: string }
  /** A mapping or preset, and the only hook name that it matches. */
  | { kind: 'hook'; name: string; path?: string | undefined }

export interface ConfiguredBudget {
  /** Where it is in the configuration. */
  keys: readonly string[]
  subject: BudgetSubject
  limit: BudgetConfig
}

/** A budget of `agents.defaults` is one for each agent that has none of its own. */
export function listBudgets({ budget, agents, hooks, channels }: Config): ConfiguredBudget[] {
  const list = (subject: BudgetSubject, keys: readonly string[], limits: readonly BudgetConfig[] = []) =>
    // Limits that do not match the schema leave holes.
    Object.entries(limits).map(([index, limit]): ConfiguredBudget => ({ keys: [...keys, index], subject, limit }))
  const ofAgents = agentIdsOf(agents).flatMap((id) => {
    const own = agents[id]?.budget
    return list({ kind: 'agent', name: id }, ['agents', own ? id : 'defaults', 'budget'], own ?? agents.defaults.budget)
  })
  const ofMappings = Object.entries(hooks.mappings).flatMap(([index, mapping]) =>
    list(
      {
        kind: 'hook',
        name: mapping.id ?? `mappings[${index}]`,
        path: mapping.match?.path && normalizeHookName(mapping.match.path),
      },
      ['hooks', 'mappings', index, 'budget'],
      mapping.budget,
    ),
  )
  const ofPresets = [...new Set(hooks.presets)].flatMap((name) =>
    list({ kind: 'hook', name, path: name }, ['hooks', name, 'budget'], presetSection(hooks, name).budget),
  )
  const ofChannels = Object.entries(channels).flatMap(([name, section]) =>
    list({ kind: 'channel', name }, ['channels', name, 'budget'], section.budget),
  )
  return [
    ...(Array.isArray(budget)
      ? list({ kind: 'all' }, ['budget'], budget)
      : list({ kind: 'all' }, ['budget', 'limits'], budget?.limits)),
    ...ofAgents,
    ...list({ kind: 'hooks' }, ['hooks', 'budget'], hooks.budget),
    ...ofMappings,
    ...ofPresets,
    ...ofChannels,
  ]
}

/** The time zone in whose midnight windows of days begin. */
export const budgetTimezone = ({ budget }: Pick<Config, 'budget'>): string =>
  (Array.isArray(budget) ? undefined : budget?.timezone) ?? machineTimezone()
