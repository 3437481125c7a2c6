// Connects the configured accounts of every channel, keeps them connected, closes them.
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { resolveAccounts } from '../config/accounts.ts'
import type { Config } from '../config/schema.ts'
import { createExtensionLog } from '../loader/extension-log.ts'
import { createOutage } from '../outage.ts'
import type { Channel, ChannelContext, Connection, InboundMessage, Log, ExtensionState } from '../plugin.ts'

export interface Account {
  channel: Channel
  accountId: string
  /** What the channel's own schema describes. */
  settings: Record<string, unknown>
  /** Who may talk to it; absent: nobody. */
  allowFrom: readonly string[] | undefined
}

export interface Connections {
  /** Connects every account in the background; what fails is tried again. */
  open(): void
  /** Other accounts from now on: what stays as it is stays connected. */
  update(config: Config['channels']): Promise<void>
  /** The channel, and its connection once it stands; undefined when the account is not configured. */
  get(channel: string, accountId: string): Pick<Link, 'channel' | 'connection'> | undefined
  /** Every configured account. */
  states(): ConnectionState[]
  close(): Promise<void>
}

export interface ConnectionState {
  channel: string
  accountId: string
  /** `failing`: it could not connect, or was lost, and is tried again; the log says why. */
  state: 'connecting' | 'connected' | 'failing'
}

interface ConnectionsDeps {
  channels: ReadonlyMap<string, Channel<never>>
  config: Config['channels']
  receive(account: Account, message: InboundMessage): ReturnType<ChannelContext['receive']>
  /** Called when an account has connected: messages may be waiting for it. */
  onConnected(): void
  state(owner: string): ExtensionState
  log: Log
}

const firstRetryMs = 1_000
const longestRetryMs = 60_000
/** A channel that does not end in this time is left behind: it must not hold up the stop. */
const closeMs = 3_000

export function createConnections(deps: ConnectionsDeps): Connections {
  const links = new Map<string, Link>()
  for (const account of accountsOf(deps)) links.set(keyOf(account), createLink(deps, account))
  const update = async (config: Config['channels']): Promise<void> => {
    const wanted = new Map(accountsOf({ ...deps, config }).map((account) => [keyOf(account), account]))
    const [kept, gone] = [new Set<string>(), new Array<Link>()]
    for (const [key, link] of links) {
      if (isDeepStrictEqual(wanted.get(key), link.account)) kept.add(key)
      else gone.push(link)
    }
    // The old connection ends before the new one begins: many platforms take but one.
    await Promise.allSettled(gone.map((link) => link.close()))
    for (const key of [...links.keys()].filter((key) => !kept.has(key))) links.delete(key)
    for (const [key, account] of wanted) {
      if (kept.has(key)) continue
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
    states: () =>
      Array.from(links.values(), ({ channel, accountId, state }) => ({ channel: channel.name, accountId, state })),
    close: async () => void (await Promise.allSettled([...links.values()].map((link) => link.close()))),
  }
}

const keyOf = ({ channel, accountId }: Account): string => linkKey(channel.name, accountId)

const linkKey = (channel: string, accountId: string): string => JSON.stringify([channel, accountId])

function accountsOf({ channels, config }: Pick<ConnectionsDeps, 'channels' | 'config'>): Account[] {
  return Object.entries(config).flatMap(([name, section]) => {
    const channel = channels.get(name)
    if (!channel || !section.enabled) return []
    return resolveAccounts(section, channel.config).map(({ id, settings }) => ({
      channel,
      accountId: id,
      settings,
      allowFrom: section.allowFrom,
    }))
  })
}

/** One account and its connection to the platform. */
export interface Link extends Pick<ConnectionState, 'accountId' | 'state'> {
  account: Account
  channel: Channel
  /** Absent while it is not connected. */
  connection: Connection | undefined
  open(): void
  close(): Promise<void>
}

function createLink(deps: ConnectionsDeps, account: Account): Link {
  const { channel, accountId } = account
  const stop = new AbortController()
  let retry: NodeJS.Timeout | undefined
  let opening: Promise<void> | undefined
  const fields = { channel: channel.name, accountId }
  const outage = createOutage(deps.log, {
    level: 'warn',
    failed: 'channel could not connect; it is tried again',
    worked: 'channel connected',
    describe: (error) => ({ reason: error instanceof Error ? error.message : typeof error }),
  })

  const connect = async (waitMs: number): Promise<void> => {
    try {
      const own: { connection?: Connection; lost?: string } = {}
      const lost = (reason: string): void => {
        if (own.connection) lose(own.connection, reason)
        else own.lost ??= reason
      }
      const connection = await channel.connect(
        account.settings,
        contextOf(deps, account, { signal: stop.signal, lost }),
      )
      own.connection = connection
      if (stop.signal.aborted) return await connection.close()
      link.connection = connection
      if (own.lost !== undefined) return lose(connection, own.lost)
      link.state = 'connected'
      if (!outage.worked(fields)) deps.log.info(fields, 'channel connected')
      deps.onConnected()
    } catch (error) {
      if (stop.signal.aborted) return
      link.state = 'failing'
      outage.failed(error, fields)
      retry = setTimeout(() => begin(Math.min(waitMs * 2, longestRetryMs)), waitMs).unref()
    }
  }

  /** Only the connection that stands can be lost, and only once. */
  const lose = (connection: Connection, reason: string): void => {
    if (stop.signal.aborted || link.connection !== connection) return
    link.connection = undefined
    link.state = 'failing'
    deps.log.warn({ ...fields, reason }, 'channel lost; it connects again')
    // Its own close may hang on a platform that is away.
    void Promise.race([connection.close(), delay(closeMs, undefined, { ref: false })]).catch(() => undefined)
    retry = setTimeout(() => begin(firstRetryMs), firstRetryMs).unref()
  }

  const begin = (waitMs: number): void => {
    opening = connect(waitMs)
  }

  const link: Link = {
    account,
    channel,
    accountId,
    state: 'connecting',
    connection: undefined,
    open: () => begin(firstRetryMs),
    close: async () => {
      stop.abort()
      clearTimeout(retry)
      const over = delay(closeMs, undefined, { ref: false })
      await Promise.race([opening, over])
      if (!link.connection) return
      await Promise.race([link.connection.close(), over])
      deps.log.info(fields, 'channel closed')
    },
  }
  return link
}

function contextOf(
  deps: ConnectionsDeps,
  account: Account,
  own: Pick<ChannelContext, 'signal' | 'lost'>,
): ChannelContext {
  return {
    accountId: account.accountId,
    ...own,
    log: createExtensionLog(deps.log, { channel: account.channel.name, accountId: account.accountId }),
    state: deps.state(`channel:${account.channel.name}:${account.accountId}`),
    receive: (message) => deps.receive(account, message),
  }
}
