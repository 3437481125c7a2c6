// Decides where a reply goes: the channel, the account and the recipient; or why it can go nowhere.
import type { Config } from '../config/schema.ts'
import { fallbackChannel } from '../config/schema/mappings.ts'
import type { Json } from '../plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { Store, StoredRoute } from '../store/store.ts'

export interface Address {
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
}

export type Resolution = { address: Address } | { channel: string; to: string; reason: string }

export interface Recipients {
  resolve(recipient: Recipient): Promise<Resolution>
  /** Why nothing can be sent on this channel; undefined when it is loaded and configured. */
  unusable(channel: string): string | undefined
}

interface RecipientDeps {
  store: Pick<Store, 'lastRoute'>
  channels: Config['channels']
  /** Names of the channels that plugins brought. */
  loaded: ReadonlySet<string>
  mainSession: string
}

export function createRecipients({ store, channels, loaded, mainSession }: RecipientDeps): Recipients {
  const unusable = (channel: string): string | undefined => {
    if (!loaded.has(channel)) return `No plugin brings the channel "${channel}"; install one and list it in plugins.`
    if (!channels[channel]?.enabled) return `The channel "${channel}" is not configured; add channels.${channel} to the config.`
    return undefined
  }
  const resolve = async (recipient: Recipient): Promise<Resolution> => {
    const wanted = recipient.channel === 'last' ? undefined : recipient.channel
    const last = await store.lastRoute(mainSession, wanted)
    const channel = wanted ?? last?.channel ?? fallbackChannel
    const reason = unusable(channel)
    if (reason) return { channel, to: recipient.to ?? '', reason }
    const section = channels[channel] as Config['channels'][string]
    const accountId = recipient.accountId ?? accountOf(section, last)
    const to = recipient.to ?? last?.to ?? section.accounts?.[accountId]?.defaultTo ?? section.defaultTo
    if (!to) return { channel, to: '', reason: `The channel "${channel}" has no recipient yet; send "to", or set channels.${channel}.defaultTo.` }
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
  return { resolve, unusable }
}

/** The account that last heard from somebody, while it is still configured; else the first. */
function accountOf({ accounts = { default: {} } }: Config['channels'][string], last: StoredRoute | undefined): string {
  return last && Object.hasOwn(accounts, last.accountId) ? last.accountId : (Object.keys(accounts)[0] ?? 'default')
}
