// The rules of the tool policy: a scope begins with a profile that is added to, or with a list of its own, not with both.
import type { ToolPolicyConfig, ToolScope } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* toolRules({ config }: RuleContext): Iterable<RuleFinding> {
  const { defaults: _defaults, ...agents } = config.agents
  yield* policyRules(config.tools, ['tools'])
  for (const [id, { tools }] of Object.entries(agents)) if (tools) yield* policyRules(tools, ['agents', id, 'tools'])
}

function* policyRules(policy: ToolPolicyConfig, keys: readonly string[]): Iterable<RuleFinding> {
  yield* scopeRules(policy, keys)
  for (const [reference, scope] of Object.entries(policy.byProvider ?? {})) yield* scopeRules(scope, [...keys, 'byProvider', reference])
}

function* scopeRules({ allow, alsoAllow }: ToolScope, keys: readonly string[]): Iterable<RuleFinding> {
  if (!allow || !alsoAllow) return
  yield { keys: [...keys, 'alsoAllow'], problem: 'must not stand beside allow; move its names there, or take a profile in place of allow' }
}
