// Checks the keys of the gateway in the sections of providers.
import { parseDuration } from '../duration.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* providerRules({ config }: RuleContext): Iterable<RuleFinding> {
  for (const [name, { firstTokenTimeout }] of Object.entries(config.providers))
    if (firstTokenTimeout !== undefined && parseDuration(firstTokenTimeout) === undefined)
      yield {
        keys: ['providers', name, 'firstTokenTimeout'],
        problem: 'must be a duration of at most 24 days, such as "90s" or "5m", or 0 for no limit',
      }
}
