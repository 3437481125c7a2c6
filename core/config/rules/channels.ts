// Checks channels and providers: required settings of accounts, and names of providers.
import { listProblems } from '../../typebox.ts'
import { resolveAccounts } from '../accounts.ts'
import type { ChannelConfig } from '../schema/extensions.ts'
import { recipientRules } from './recipients.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* channelRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  for (const [name, section] of Object.entries(config.channels)) {
    const channel = extensions.channels.get(name)
    if (!channel || !section.enabled) continue
    yield* defaultToRules(name, section, context)
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
