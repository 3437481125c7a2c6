// Warnings about replies that cannot be delivered: to a channel that cannot be used, or to nobody.
import { fallbackChannel } from '../../action.ts'
import { resolveAccounts } from '../accounts.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

/** Where a mapping, a preset or a heartbeat sends its replies. */
export interface ReplyTarget {
  action?: string | undefined
  deliver?: boolean | undefined
  /** Absent: `last`. */
  channel?: string | undefined
  to?: string | undefined
  accountId?: string | undefined
  /** What an operator does who wants no replies. */
  silence?: string
}

/** Only what the configuration can tell: which route the main session knows is told in the reply to a request. */
export function* replyWarnings(
  { action, deliver, channel = 'last', to, accountId, silence = 'set deliver to false' }: ReplyTarget,
  context: RuleContext,
): Iterable<RuleFinding> {
  if (action === 'wake' || deliver === false) return
  const name = channel.trim()
  if (name !== 'last') yield* channelWarnings({ name, to, accountId }, context)
  else if (!mayLead({ to, accountId }, context)) {
    const problem =
      'sends replies to "last", but no channel lets anybody write to the agent (allowFrom), so they are not delivered'
    yield { keys: [], problem: `${problem}; name a channel and a recipient ("to"), or ${silence}`, warning: true }
  }
}

interface Named extends Pick<ReplyTarget, 'to' | 'accountId'> {
  name: string
}

function* channelWarnings({ name, to, accountId }: Named, { config, extensions }: RuleContext): Iterable<RuleFinding> {
  const channel = extensions.channels.get(name)
  const section = config.channels[name]
  const warn = (key: string, problem: string): RuleFinding => ({ keys: [key], problem, warning: true })
  if (!channel)
    yield warn(
      'channel',
      `is "${name}", which no plugin brings, so replies are not delivered; install one and list it in plugins`,
    )
  else if (!section?.enabled)
    yield warn(
      'channel',
      `is "${name}", which is not configured, so replies are not delivered; add channels.${name} to the config`,
    )
  else {
    const accounts = resolveAccounts(section, channel.config)
    const account = accounts.find(({ id }) => id === (accountId ?? accounts[0]?.id))
    const ids = accounts.map(({ id }) => `"${id}"`).join(', ')
    if (!account)
      yield warn(
        'accountId',
        `is no account of channels.${name}, so replies are not delivered; it has ${ids || 'none'}`,
      )
    else if (to === undefined && account.defaultTo === undefined && !hearsSomebody(section)) {
      yield warn('channel', `is "${name}", where replies have no recipient; set "to", or channels.${name}.defaultTo`)
    }
  }
}

/** A message that came in leaves a route; without one, `last` means the fallback. */
function mayLead({ to, accountId }: Pick<ReplyTarget, 'to' | 'accountId'>, context: RuleContext): boolean {
  const { config, extensions } = context
  const heard = Object.entries(config.channels).some(
    ([name, section]) => extensions.channels.has(name) && section.enabled && hearsSomebody(section),
  )
  return heard || Array.from(channelWarnings({ name: fallbackChannel, to, accountId }, context)).length === 0
}

const hearsSomebody = ({ allowFrom = [] }: { allowFrom?: readonly string[] }): boolean => allowFrom.length > 0
