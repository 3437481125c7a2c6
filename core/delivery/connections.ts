// Connects the configured accounts of every channel, keeps them connected, closes them.
import type { ChannelConfig, Config } from '../config/schema.ts'
import type { Channel, ChannelContext, Connection, InboundMessage, Log, PartState } from '../plugin.ts'

export interface Account {
  channel: Channel
  accountId: string
  /** The channel's section with the account's own settings on top. */
  config: ChannelConfig
}

export interface Connections {
  /** Connects every account in the background; what fails is tried again. */
  open(): void
  /** The channel, and its connection once it stands; undefined when the account is not configured. */
  get(channel: string, accountId: string): { channel: Channel; connection: Connection | undefined } | undefined
  close(): Promise<void>
}

interface ConnectionsDeps {
  channels: ReadonlyMap<string, Channel<never>>
  config: Config['channels']
  receive(account: Account, message: InboundMessage): ReturnType<ChannelContext['receive']>
  /** Called when an account has connected: messages may be waiting for it. */
  onConnected(): void
  state(part: string): PartState
  log: Log
}

const firstRetryMs = 1_000
const longestRetryMs = 60_000

export function createConnections(deps: ConnectionsDeps): Connections {
  const links = new Map<string, Link>()
  for (const account of accountsOf(deps)) links.set(linkKey(account.channel.name, account.accountId), createLink(deps, account))
  return {
    open: () => {
      for (const link of links.values()) link.open()
    },
    get: (channel, accountId) => links.get(linkKey(channel, accountId)),
    close: async () => void (await Promise.allSettled([...links.values()].map((link) => link.close()))),
  }
}

const linkKey = (channel: string, accountId: string): string => JSON.stringify([channel, accountId])

/** An account each of `channels.<name>.accounts`; without that, one called `default`. */
function accountsOf({ channels, config }: ConnectionsDeps): Account[] {
  return Object.entries(config).flatMap(([name, section]) => {
    const channel = channels.get(name) as Channel | undefined
    if (!channel || !section.enabled) return []
    const { accounts, ...shared } = section
    const ids = Object.keys(accounts ?? {})
    return (ids.length ? ids : ['default']).map((accountId) => ({ channel, accountId, config: { ...shared, ...accounts?.[accountId] } }))
  })
}

interface Link {
  channel: Channel
  connection: Connection | undefined
  open(): void
  close(): Promise<void>
}

function createLink(deps: ConnectionsDeps, account: Account): Link {
  const { channel, accountId } = account
  const stop = new AbortController()
  let retry: NodeJS.Timeout | undefined
  let opening: Promise<void> | undefined

  const connect = async (waitMs: number): Promise<void> => {
    try {
      const connection = await channel.connect(account.config, contextOf(deps, account, stop.signal))
      if (stop.signal.aborted) return await connection.close()
      link.connection = connection
      deps.onConnected()
    } catch (error) {
      deps.log.warn({ channel: channel.name, accountId, error: (error as Error).name }, 'channel could not connect; it is tried again')
      if (!stop.signal.aborted) retry = setTimeout(() => begin(Math.min(waitMs * 2, longestRetryMs)), waitMs).unref()
    }
  }

  const begin = (waitMs: number): void => {
    opening = connect(waitMs)
  }

  const link: Link = {
    channel,
    connection: undefined,
    open: () => begin(firstRetryMs),
    close: async () => {
      stop.abort()
      clearTimeout(retry)
      await opening
      await link.connection?.close()
    },
  }
  return link
}

function contextOf(deps: ConnectionsDeps, account: Account, signal: AbortSignal): ChannelContext {
  return {
    accountId: account.accountId,
    signal,
    log: deps.log,
    state: deps.state(`channel:${account.channel.name}:${account.accountId}`),
    receive: (message) => deps.receive(account, message),
  }
}
