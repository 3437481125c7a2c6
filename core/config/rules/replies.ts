// Warns about replies that cannot be delivered, because of the channel or a missing recipient.
import { resolveAccounts } from '../accounts.ts'
import { channelName } from '../channels/names.ts'
import { canReachMainSession, listAccess } from '../channels/access.ts'
import type { ChannelConfig } from '../schema/schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

/** Where a mapping, a preset or a heartbeat sends its replies. */
export interface ReplyTarget {
  action?: string | undefined
  deliver?: boolean | undefined
  /** Absent: `last`. */
  channel?: string | undefined
  to?: string | undefined
  accountId?: string | undefined
  /** How to turn replies off, for the message. */
  howToDisable?: string
}

/** Checks only the configuration. The response to a request also considers the reply routes of the main session. */
export function* replyWarnings(
  { action, deliver, channel = 'last', to, accountId, howToDisable = 'set deliver to false' }: ReplyTarget,
  context: RuleContext,
): Iterable<RuleFinding> {
  if (action === 'wake' || deliver === false) return
  const name = channelName(context.extensions.channels, channel)
  if (name !== 'last') yield* channelWarnings({ name, to, accountId }, context)
  else if (!canResolveLast({ to, accountId }, context)) {
    const problem =
      'sends replies to "last", but on no channel may anybody write to the main session, so they are not delivered'
    yield {
      keys: [],
      code: 'reply_undeliverable',
      problem: `${problem}; list senders in allowFrom, set a channel and a recipient ("to"), or ${howToDisable}`,
      warning: true,
    }
  }
}

interface NamedTarget extends Pick<ReplyTarget, 'to' | 'accountId'> {
  name: string
}

function* channelWarnings(
  { name, to, accountId }: NamedTarget,
  { config, extensions }: RuleContext,
): Iterable<RuleFinding> {
  const channel = extensions.channels.get(name)
  const section = config.channels[name]
  const warn = (key: string, problem: string): RuleFinding => ({
    keys: [key],
    code: 'reply_undeliverable',
    problem,
    warning: true,
  })
  if (!channel)
    yield warn(
      'channel',
      `is "${name}", which no loaded plugin provides, so replies are not delivered; add a plugin to plugins`,
    )
  else if (!section?.enabled)
    yield warn('channel', `is "${name}", which is not configured, so replies are not delivered; add channels.${name}`)
  else {
    const accounts = resolveAccounts(section, channel.config)
    const account = accounts.find(({ id }) => id === (accountId ?? accounts[0]?.id))
    const ids = accounts.map(({ id }) => `"${id}"`).join(', ')
    if (!account)
      yield warn(
        'accountId',
        `is not an account of channels.${name}, so replies are not delivered; its accounts: ${ids || 'none'}`,
      )
    else if (to === undefined && account.defaultTo === undefined && !setsLast(section)) {
      yield warn('channel', `is "${name}", where replies have no recipient; set "to" or channels.${name}.defaultTo`)
    }
  }
}

/** An incoming message defines `last`. Without one, `last` is the fallback channel. */
function canResolveLast({ to, accountId }: Pick<ReplyTarget, 'to' | 'accountId'>, context: RuleContext): boolean {
  const { config, extensions } = context
  const canReceive = Object.entries(config.channels).some(
    ([name, section]) => extensions.channels.has(name) && section.enabled && setsLast(section),
  )
  const name = channelName(extensions.channels, config.session.fallbackChannel)
  return canReceive || Array.from(channelWarnings({ name, to, accountId }, context)).length === 0
}

/** Whether a message to the main session can come in, which defines the recipient. */
const setsLast = (section: ChannelConfig): boolean => listAccess(section).some(canReachMainSession)
