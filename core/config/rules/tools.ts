// Checks the tool policy: `allow` excludes `alsoAllow`, providers must be configured, and chats should be narrowed.
import { nearest } from '../nearest.ts'
import type { ToolPolicyConfig, ToolScope } from '../schema/schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* toolRules({ config }: RuleContext): Iterable<RuleFinding> {
  const { defaults: _defaults, ...agents } = config.agents
  const providers = ['builtin', ...Object.keys(config.providers)]
  yield* policyRules(config.tools, { keys: ['tools'], providers })
  if (!config.tools.narrowChats) yield unnarrowedChats
  for (const [id, { tools }] of Object.entries(agents))
    if (tools) yield* policyRules(tools, { keys: ['agents', id, 'tools'], providers })
}

const unnarrowedChats: RuleFinding = {
  keys: ['tools', 'narrowChats'],
  problem:
    'is false, so text from outside that an agent sees in a chat may use the tools of whoever chats, limited only by the ' +
    'rule of two; set it to true to be asked instead',
  warning: true,
}

interface PolicyContext {
  keys: readonly string[]
  /** The names of the configured providers. */
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
    problem: 'cannot be combined with allow; move its names there, or use a profile instead of allow',
  }
}

/** Lists under a misspelled provider would never apply. */
function* providerWarnings(reference: string, { keys, providers }: PolicyContext): Iterable<RuleFinding> {
  const [name = ''] = reference.trim().toLowerCase().split('/', 1)
  if (providers.some((provider) => provider.toLowerCase() === name)) return
  const suggestion = nearest(name, providers)
  yield {
    keys,
    problem:
      `is not a configured provider, so it applies to no ` +
      `model${suggestion ? `; did you mean "${suggestion}"?` : ''}`,
    warning: true,
  }
}
