// The rules of recipients: the channel is loaded and configured, and a `to` that is written out fits its schema.
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

interface UsedChannel {
  channel: string
  /** Where the channel is in the configuration. */
  keys: readonly string[]
  /** What the key may be as well, for the message. */
  orElse: string
  /** What follows if the channel is not configured, for the message. */
  effect: string
}

/** Checks a channel to which the gateway sends messages of its own. */
export function* usedChannelRules(
  { channel: called, keys, orElse, effect }: UsedChannel,
  { config, extensions: { channels } }: RuleContext,
): Iterable<RuleFinding> {
  const channel = channelName(channels, called)
  if (!channels.has(channel)) {
    const names = [...channels.keys()].join(', ') || 'none is loaded'
    yield { keys, problem: `must be ${orElse}the name of a loaded channel (${names})` }
  } else if (!config.channels[channel]?.enabled) {
    const problem = `is a channel that is not configured${effect}; add channels.${channel}`
    yield { keys, problem, warning: true }
  }
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
