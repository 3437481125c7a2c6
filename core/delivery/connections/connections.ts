// Connects the configured accounts of every channel, and applies changes of the configuration.
import { isDeepStrictEqual } from 'node:util'
import { resolveAccounts } from '../../config/accounts.ts'
import { channelName } from '../../config/channels/names.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { Channel } from '../../plugin/plugin.ts'
import { type CreateLease, createOwnedLease, type HeldLease } from '../../store/held-lease.ts'
import type { AccountRef } from '../../store/store.ts'
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
  /** The accounts that another gateway on the same store may have connected. */
  listElsewhere(): AccountRef[]
  /** Every configured account. */
  states(): ConnectionState[]
  close(): Promise<void>
}

interface ConnectionsDeps extends LinkDeps {
  channels: ReadonlyMap<string, Channel<never>>
  config: Config['channels']
  /** Absent: no other gateway connects the accounts. */
  createLease?: CreateLease
  /** Called when this gateway may connect an account that another one may have used before. */
  onTakenOver?(account: AccountRef): void
}

export function createConnections(deps: ConnectionsDeps): Connections {
  const { createLease = createOwnedLease } = deps
  const links = new Map<string, LeasedLink>()
  for (const account of accountsOf(deps)) links.set(keyOf(account), createLeasedLink(account))

  /** Many platforms allow one connection, so that of the gateways on one store only one connects the account. */
  function createLeasedLink(account: Account): LeasedLink {
    const link = createLink(deps, account)
    const name = `channel ${account.channel.name} ${account.accountId}`
    const onAcquired = (): void => {
      deps.onTakenOver?.({ channel: account.channel.name, accountId: account.accountId })
      link.open()
    }
    const lease = createLease(name, { onAcquired, onLost: () => void link.standBy() })
    return { link, lease }
  }

  const update = async (config: Config['channels']): Promise<void> => {
    const wanted = new Map(accountsOf({ ...deps, config }).map((account) => [keyOf(account), account]))
    const [unchanged, removed] = [new Set<string>(), new Array<LeasedLink>()]
    for (const [key, leased] of links) {
      if (isDeepStrictEqual(wanted.get(key), leased.link.account)) unchanged.add(key)
      else removed.push(leased)
    }
    // The old connection closes before the new one opens, because many platforms allow only one.
    await Promise.allSettled(removed.map(closeLeasedLink))
    for (const key of [...links.keys()].filter((key) => !unchanged.has(key))) links.delete(key)
    for (const [key, account] of wanted) {
      if (unchanged.has(key)) continue
      const leased = createLeasedLink(account)
      links.set(key, leased)
      leased.lease.start()
    }
  }
  return {
    update,
    open: () => {
      for (const { lease } of links.values()) lease.start()
    },
    get: (channel, accountId) => links.get(linkKey(channel, accountId))?.link,
    find: (called, accountId) => {
      const channel = channelName(deps.channels, called)
      if (accountId !== undefined) return links.get(linkKey(channel, accountId))?.link
      const accounts = [...links.values()].map(({ link }) => link).filter((link) => link.channel.name === channel)
      return links.get(linkKey(channel, 'default'))?.link ?? (accounts.length === 1 ? accounts[0] : undefined)
    },
    states: () => Array.from(links.values(), ({ link }) => link.health()),
    listElsewhere: () =>
      [...links.values()]
        .filter(({ lease }) => !lease.isHeld())
        .map(({ link }) => ({ channel: link.channel.name, accountId: link.accountId })),
    close: async () => void (await Promise.allSettled(Array.from(links.values(), closeLeasedLink))),
  }
}

interface LeasedLink {
  link: Link
  lease: HeldLease
}

/** The connection first: only then may another gateway connect. */
async function closeLeasedLink({ link, lease }: LeasedLink): Promise<void> {
  await link.close()
  await lease.close()
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
