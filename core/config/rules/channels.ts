// Checks channels and providers: required settings of accounts, and names of providers.
import { listProblems } from '../../typebox.ts'
import { resolveAccounts } from '../accounts.ts'
import { agentIdsOf } from '../agent-ids.ts'
import { suggest } from '../nearest.ts'
import type { AccountConfig, ChannelConfig } from '../schema.ts'
import { recipientRules } from './recipients.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* channelRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  for (const [name, section] of Object.entries(config.channels)) {
    const channel = extensions.channels.get(name)
    if (!channel || !section.enabled) continue
    yield* defaultToRules(name, section, context)
    yield* agentRules(section, { keys: ['channels', name], config })
    for (const [id, account] of Object.entries(section.accounts ?? {}))
      yield* agentRules(account, { keys: ['channels', name, 'accounts', id], config })
    for (const { id, settings } of resolveAccounts(section, channel.config)) {
      const keysOfEntry = ['channels', name, ...(section.accounts ? ['accounts', id] : [])]
      yield* listProblems(channel.config, settings).map(({ keys, problem }) => ({
        keys: [...keysOfEntry, ...keys],
        problem,
      }))
    }
  }
  yield* Object.keys(config.providers)
    .filter((name) => name.includes('/') || name !== name.trim() || name === '')
    .map((name) => ({
      keys: ['providers', name],
      problem: 'is not a valid provider name; it must not be blank, contain "/" or have surrounding spaces',
    }))
}

function* defaultToRules(name: string, section: ChannelConfig, context: RuleContext): Iterable<RuleFinding> {
  const keys = ['channels', name]
  yield* recipientRules({ channel: name, to: section.defaultTo, keys: [...keys, 'defaultTo'] }, context)
  for (const [id, { defaultTo: to }] of Object.entries(section.accounts ?? {}))
    yield* recipientRules({ channel: name, to, keys: [...keys, 'accounts', id, 'defaultTo'] }, context)
}

/** A message must not reach another agent than the one that the operator has chosen for its sender. */
function* agentRules(
  { agentId, groups = {} }: AccountConfig,
  { keys, config }: { keys: readonly string[] } & Pick<RuleContext, 'config'>,
): Iterable<RuleFinding> {
  const ids = agentIdsOf(config.agents)
  const named = [
    { id: agentId, at: ['agentId'] },
    ...Object.entries(groups).map(([group, { agentId: id }]) => ({ id, at: ['groups', group, 'agentId'] })),
  ]
  for (const { id, at } of named)
    if (id !== undefined && !ids.includes(id.trim().toLowerCase()))
      yield { keys: [...keys, ...at], problem: `is not an agent; ${suggest(id, ids, `use one of ${ids.join(', ')}`)}` }
}
