// Resolves where a reply goes: the channel, the account and the recipient, or why it cannot be delivered.
import type { Config } from '../config/schema/schema.ts'
import { accountsOf, hasAccount } from '../config/channels/access.ts'
import { channelName } from '../config/channels/names.ts'
import { findRecipientProblem } from '../config/rules/recipients.ts'
import type { Channel } from '../plugin/plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { NewRoute, StoredRoute } from '../store/store.ts'
import type { LastRoute, ReplyRoutes } from './reply-routes.ts'

export type Resolution = { address: NewRoute } | Unresolved

export interface Unresolved {
  channel: string
  to: string
  /** A sentence. */
  reason: string
  /** True: this gateway lacks the channel or the account. Another one on the same store may have it already. */
  isMissing: boolean
}

export interface Recipients {
  /** The name of a channel, of which an alias may be given. */
  channelName(called: string): string
  /** Why a recipient can never be used: its channel is named, and its `to` does not fit there. */
  findProblem(recipient: Recipient): string | undefined
  resolve(recipient: Recipient): Promise<Resolution>
  /**
   * Why a reply could not be delivered now, or undefined if it could. Reads from memory only, so that it does not slow
   * down the acceptance of webhooks.
   */
  whyUndeliverable(recipient: Recipient): string | undefined
}

interface RecipientDeps {
  routes: Pick<ReplyRoutes, 'find' | 'findKnown'>
  channels: Config['channels']
  /** The channels that plugins provide. */
  loaded: ReadonlyMap<string, Pick<Channel, 'name' | 'target' | 'aliases'>>
  mainSession: string
  /** The channel that `last` means while the main session has no route. */
  fallbackChannel: string
}

export function createRecipients({
  routes,
  channels,
  loaded,
  mainSession,
  fallbackChannel,
}: RecipientDeps): Recipients {
  const nameOf = (called: string): string => channelName(loaded, called)
  /** Undefined for `last`. */
  const channelOf = ({ channel }: Recipient): string | undefined => (channel === 'last' ? undefined : nameOf(channel))

  const wantedBy = (recipient: Recipient) => ({ channel: channelOf(recipient), to: recipient.to })

  const unusable = (channel: string): string | undefined => {
    if (!loaded.has(channel)) return `No plugin provides the channel "${channel}"; install one and list it in plugins.`
    if (!channels[channel]?.enabled)
      return `The channel "${channel}" is not configured; add channels.${channel} to the config.`
    return undefined
  }

  const problemOf = (channel: string, to: string | undefined): string | undefined => {
    if (to === undefined) return undefined
    const known = loaded.get(nameOf(channel))
    const problem = known && findRecipientProblem(known, to)
    return problem && `to ${problem}`
  }

  /** `last`: the newest route of the main session, on the recipient's channel if it names one. */
  const resolveWith = (recipient: Recipient, { route: latest, loss }: LastRoute): Resolution => {
    const channel = channelOf(recipient) ?? latest?.channel ?? nameOf(fallbackChannel)
    // Another account may not know its recipient.
    const isOther = recipient.accountId !== undefined && recipient.accountId !== latest?.accountId
    const last = isOther ? undefined : latest
    const undeliverable = (reason: string, isMissing = false): Resolution => ({
      channel,
      to: recipient.to ?? '',
      reason,
      isMissing,
    })
    const reason = unusable(channel)
    if (reason)
      return undeliverable(
        (channelOf(recipient) ?? latest) ? reason : describeMissingRoute(fallbackChannel, loss),
        true,
      )
    const section = channels[channel] as Config['channels'][string]
    const accountId = recipient.accountId ?? accountOf(section, last)
    if (!hasAccount(section, accountId))
      return undeliverable(`The channel "${channel}" has no such account; it has ${namesOf(section)}.`, true)
    const to = recipient.to ?? last?.to ?? section.accounts?.[accountId]?.defaultTo ?? section.defaultTo
    if (!to)
      return undeliverable(
        `The channel "${channel}" has no recipient${loss === undefined ? ' yet' : ''}; send "to", or set channels.${channel}.defaultTo.${because(loss)}`,
      )
    const problem = problemOf(channel, recipient.to)
    if (problem !== undefined) return undeliverable(`${problem}.`)
    const sameAsLast = last?.to === to
    return {
      address: {
        channel,
        accountId,
        to,
        threadId: recipient.threadId ?? (recipient.to === undefined && sameAsLast ? last.threadId : null),
        route: recipient.route ?? (sameAsLast ? last.route : null),
      },
    }
  }

  return {
    channelName: nameOf,
    findProblem: ({ channel, to }) => problemOf(channel, to),
    resolve: async (recipient) => resolveWith(recipient, await routes.find(mainSession, wantedBy(recipient))),
    whyUndeliverable: (recipient) => {
      const found = resolveWith(recipient, routes.findKnown(mainSession, wantedBy(recipient)))
      return 'reason' in found ? found.reason : undefined
    },
  }
}

/** The address as requested, for the record of a delivery without one that is resolved. */
export const createRequestedAddress = ({ channel, to, accountId, threadId }: Recipient) => ({
  channel,
  accountId: accountId ?? 'default',
  to: to ?? '',
  threadId: threadId ?? null,
  route: null,
})

const describeMissingRoute = (fallbackChannel: string, loss: string | undefined): string =>
  `The channel "last" leads nowhere: ${loss === undefined ? 'no message has come in yet' : 'whoever wrote last may not any more'}, ` +
  `and "${fallbackChannel}" cannot be used; name a channel, or set deliver to false.${because(loss)}`

/** Why the newest route is not used. */
const because = (loss: string | undefined): string => (loss === undefined ? '' : ` ${loss}`)

const namesOf = (section: Config['channels'][string]): string =>
  Object.keys(accountsOf(section))
    .map((id) => `"${id}"`)
    .join(', ')

/** The account of the last route if it is still configured, or else the first account. */
function accountOf(section: Config['channels'][string], last: StoredRoute | undefined): string {
  return last && hasAccount(section, last.accountId)
    ? last.accountId
    : (Object.keys(accountsOf(section))[0] ?? 'default')
}
