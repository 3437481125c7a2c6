// Checks what the schema of a single key cannot express, such as the relation between keys.
import { agentRules } from './agents.ts'
import { budgetRules } from './budgets.ts'
import { approvalRules } from './approvals.ts'
import { channelRules } from './channels.ts'
import { clientRules } from './clients.ts'
import { gatewayRules } from './gateway.ts'
import { hookRules } from './hooks.ts'
import { mappingRules } from './mappings.ts'
import { presetRules } from './presets.ts'
import { providerRules } from './models.ts'
import type { Rule, RuleContext, RuleFinding } from './rule.ts'
import { toolRules } from './tools.ts'

const rules: readonly Rule[] = [
  gatewayRules,
  clientRules,
  hookRules,
  mappingRules,
  presetRules,
  agentRules,
  providerRules,
  channelRules,
  toolRules,
  budgetRules,
  approvalRules,
]

/** All findings of the rules: errors and warnings. */
export const checkRules = (context: RuleContext): RuleFinding[] => rules.flatMap((rule) => Array.from(rule(context)))
