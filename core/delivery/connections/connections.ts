// Connects the configured accounts of every channel, and applies changes of the configuration.
import { isDeepStrictEqual } from 'node:util'
import { resolveAccounts } from '../../config/accounts.ts'
import { channelName } from '../../config/channels/names.ts'
import type { Config } from '../../config/schema.ts'
import type { Channel } from '../../plugin.ts'
import { type Account, type ConnectionState, createLink, type Link, type LinkDeps } from './link.ts'

export type { Account, ConnectionState, Link } from './link.ts'

export interface Connections {
  /** Connects every account in the background, and retries on failure. */
  open(): void
  /** Applies changed accounts. Accounts that have not changed stay connected. */
  update(config: Config['channels']): Promise<void>
  /** The channel and its connection, if it is connected. Undefined if the account is not configured. */
  get(channel: string, accountId: string): Link | undefined
  /** Finds an account by the name or an alias of its channel. Without an id: the account `default`, or the only one. */
  find(channel: string, accountId?: string): Link | undefined
  /** Every configured account. */
  states(): ConnectionState[]
  close(): Promise<void>
}

interface ConnectionsDeps extends LinkDeps {
  channels: ReadonlyMap<string, Channel<never>>
  config: Config['channels']
}

export function createConnections(deps: ConnectionsDeps): Connections {
  const links = new Map<string, Link>()
  for (const account of accountsOf(deps)) links.set(keyOf(account), createLink(deps, account))
  const update = async (config: Config['channels']): Promise<void> => {
    const wanted = new Map(accountsOf({ ...deps, config }).map((account) => [keyOf(account), account]))
    const [unchanged, removed] = [new Set<string>(), new Array<Link>()]
    for (const [key, link] of links) {
      if (isDeepStrictEqual(wanted.get(key), link.account)) unchanged.add(key)
      else removed.push(link)
    }
    // The old connection closes before the new one opens, because many platforms allow only one.
    await Promise.allSettled(removed.map((link) => link.close()))
    for (const key of [...links.keys()].filter((key) => !unchanged.has(key))) links.delete(key)
    for (const [key, account] of wanted) {
      if (unchanged.has(key)) continue
      const link = createLink(deps, account)
      links.set(key, link)
      link.open()
    }
  }
  return {
    update,
    open: () => {
      for (const link of links.values()) link.open()
    },
    get: (channel, accountId) => links.get(linkKey(channel, accountId)),
    find: (called, accountId) => {
      const channel = channelName(deps.channels, called)
      if (accountId !== undefined) return links.get(linkKey(channel, accountId))
      const accounts = [...links.values()].filter((link) => link.channel.name === channel)
      return links.get(linkKey(channel, 'default')) ?? (accounts.length === 1 ? accounts[0] : undefined)
    },
    states: () => Array.from(links.values(), (link) => link.health()),
    close: async () => void (await Promise.allSettled([...links.values()].map((link) => link.close()))),
  }
}

const keyOf = ({ channel, accountId }: Account): string => linkKey(channel.name, accountId)

const linkKey = (channel: string, accountId: string): string => JSON.stringify([channel, accountId])

function accountsOf({ channels, config }: Pick<ConnectionsDeps, 'channels' | 'config'>): Account[] {
  return Object.entries(config).flatMap(([name, section]) => {
    const channel = channels.get(name)
    if (!channel || !section.enabled) return []
    return resolveAccounts(section, channel.config).map(({ id, settings }) => ({ channel, accountId: id, settings }))
  })
}
