// Checks budgets: windows, limits, the time zone, and whom alerts reach.
import { parsePeriod } from '../budget-period.ts'
import { listBudgets } from '../budgets.ts'
import type { AlertRecipient } from '../schema/budget.ts'
import { durations } from '../schema/formats.ts'
import { timezoneRules } from './heartbeat.ts'
import { recipientRules, usedChannelRules } from './recipients.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* budgetRules(context: RuleContext): Iterable<RuleFinding> {
  const { config } = context
  const budgets = listBudgets(config)
  for (const { keys, limit } of budgets) {
    if (parsePeriod(limit.per) === undefined) yield { keys: [...keys, 'per'], problem: durations.period }
    if (limit.runs === undefined && limit.tokens === undefined && limit.usd === undefined)
      yield { keys, problem: 'limits nothing; set runs, tokens or usd', missing: ['runs', 'tokens', 'usd'] }
  }
  if (!Array.isArray(config.budget)) yield* timezoneRules(config.budget?.timezone, ['budget', 'timezone'])
  yield* alertRecipientRules(config.alerts, ['alerts'], context)
  if (budgets[0] && !config.alerts && !config.hooks.onFailure)
    yield {
      keys: budgets[0].keys,
      code: 'budget_silent',
      problem:
        'alerts nobody when it is nearly used up; set alerts to a channel and a recipient, such as ' +
        '{ channel: "telegram", to: "12345" }',
      warning: true,
    }
}

/** Checks a recipient of alerts. */
export function* alertRecipientRules(
  recipient: AlertRecipient | undefined,
  keys: readonly string[],
  context: RuleContext,
): Iterable<RuleFinding> {
  const { channel, to } = recipient ?? {}
  yield* recipientRules({ channel, to, keys: [...keys, 'to'] }, context)
  if (channel === undefined || channel.trim() === 'last') return
  yield* usedChannelRules({ channel, keys: [...keys, 'channel'], orElse: '"last" or ', effect: '' }, context)
}
