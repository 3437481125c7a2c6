// Checks what the schema of a single key cannot express, such as the relation between keys.
import { agentRules } from './rules/agents.ts'
import { channelRules } from './rules/channels.ts'
import { gatewayRules } from './rules/gateway.ts'
import { hookRules } from './rules/hooks.ts'
import { mappingRules } from './rules/mappings.ts'
import { presetRules } from './rules/presets.ts'
import { providerRules } from './rules/providers.ts'
import type { Rule, RuleContext, RuleFinding } from './rules/rule.ts'
import { toolRules } from './rules/tools.ts'

export type { RuleContext, RuleFinding } from './rules/rule.ts'

const rules: readonly Rule[] = [
  gatewayRules,
  hookRules,
  mappingRules,
  presetRules,
  agentRules,
  providerRules,
  channelRules,
  toolRules,
]

/** All findings of the rules: errors and warnings. */
export const checkRules = (context: RuleContext): RuleFinding[] => rules.flatMap((rule) => Array.from(rule(context)))
