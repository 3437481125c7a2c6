// The rule of recipients: a `to` that is written out fits the schema of the channel that is named beside it.
import type { Channel } from '../../plugin/plugin.ts'
import { firstProblem, listProblems } from '../../typebox.ts'
import { channelName } from '../channels/names.ts'
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

/**
 * Checks a recipient against the `target` schema of its channel.
 *
 * @returns the rest of a sentence that begins with the name of the field; nothing when the recipient fits
 */
export function findRecipientProblem(channel: Pick<Channel, 'name' | 'target'>, to: string): string | undefined {
  const problems = listProblems(channel.target, to)
  if (problems.length === 0) return undefined
  const { description } = channel.target as { description?: unknown }
  const expected = typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
  return `does not fit the channel "${channel.name}"${expected}: ${firstProblem(problems, 'it')}`
}
