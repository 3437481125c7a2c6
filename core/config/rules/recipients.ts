// The rule of recipients: a `to` that is written out fits the schema of the channel that is named beside it.
import { channelName } from '../channels/names.ts'
import { findRecipientProblem } from '../recipient-problem.ts'
import { isTemplate } from '../template/template.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface Recipient {
  channel?: string | undefined
  to?: string | undefined
  /** Where the recipient is in the configuration. */
  keys: readonly string[]
}

export function* recipientRules({ channel, to, keys }: Recipient, { extensions }: RuleContext): Iterable<RuleFinding> {
  const known = extensions.channels.get(channelName(extensions.channels, channel ?? ''))
  if (!known || to === undefined || isTemplate(to)) return
  const problem = findRecipientProblem(known, to.trim())
  if (problem !== undefined) yield { keys, problem }
}
