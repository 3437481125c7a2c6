// The rules of the tool policy: a scope begins with a profile or with a list, not with both; providers that it names
// are there.
import { nearest } from '../nearest.ts'
import type { ToolPolicyConfig, ToolScope } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* toolRules({ config }: RuleContext): Iterable<RuleFinding> {
  const { defaults: _defaults, ...agents } = config.agents
  const providers = ['builtin', ...Object.keys(config.providers)]
  yield* policyRules(config.tools, { keys: ['tools'], providers })
  for (const [id, { tools }] of Object.entries(agents))
    if (tools) yield* policyRules(tools, { keys: ['agents', id, 'tools'], providers })
}

interface PolicyContext {
  keys: readonly string[]
  /** The names that a provider may have. */
  providers: readonly string[]
}

function* policyRules(policy: ToolPolicyConfig, { keys, providers }: PolicyContext): Iterable<RuleFinding> {
  yield* scopeRules(policy, keys)
  for (const [reference, scope] of Object.entries(policy.byProvider ?? {})) {
    const keysOfEntry = [...keys, 'byProvider', reference]
    yield* scopeRules(scope, keysOfEntry)
    yield* providerWarnings(reference, { keys: keysOfEntry, providers })
  }
}

function* scopeRules({ allow, alsoAllow }: ToolScope, keys: readonly string[]): Iterable<RuleFinding> {
  if (!allow || !alsoAllow) return
  yield {
    keys: [...keys, 'alsoAllow'],
    problem: 'must not stand beside allow; move its names there, or take a profile in place of allow',
  }
}

/** Lists under a slip of the pen would hold for nobody, unnoticed. */
function* providerWarnings(reference: string, { keys, providers }: PolicyContext): Iterable<RuleFinding> {
  const [name = ''] = reference.trim().toLowerCase().split('/', 1)
  if (providers.some((provider) => provider.toLowerCase() === name)) return
  const meant = nearest(name, providers)
  yield {
    keys,
    problem: `names no configured provider, so it holds for no model${meant ? `; did you mean "${meant}"?` : ''}`,
    warning: true,
  }
}
