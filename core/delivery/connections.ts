// Connects the configured accounts of every channel, reconnects them, and closes them.
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
  /** Settings as described by the channel's schema. */
  settings: Record<string, unknown>
}

export interface Connections {
  /** Connects every account in the background, and retries on failure. */
  open(): void
  /** Applies changed accounts. Accounts that have not changed stay connected. */
  update(config: Config['channels']): Promise<void>
  /** The channel and its connection, if it is connected. Undefined if the account is not configured. */
  get(channel: string, accountId: string): Pick<Link, 'channel' | 'connection'> | undefined
  /** Every configured account. */
  states(): ConnectionState[]
  close(): Promise<void>
}

export interface ConnectionState {
  channel: string
  accountId: string
  /** `failing`: the connection failed or was lost, and is retried; the log has the reason. */
  state: 'connecting' | 'connected' | 'failing'
}

interface ConnectionsDeps {
  channels: ReadonlyMap<string, Channel<never>>
  config: Config['channels']
  receive(account: Account, message: InboundMessage): ReturnType<ChannelContext['receive']>
  /** Called when an account has connected, because deliveries may be waiting for it. */
  onConnected(): void
  state(owner: string): ExtensionState
  log: Log
}

const firstRetryMs = 1_000
const longestRetryMs = 60_000
/** Time limit for closing a connection, so that a channel cannot delay the stop. */
const closeMs = 3_000

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
    return resolveAccounts(section, channel.config).map(({ id, settings }) => ({ channel, accountId: id, settings }))
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
      const attempt: { connection?: Connection; lostReason?: string } = {}
      const lost = (reason: string): void => {
        if (attempt.connection) onLost(attempt.connection, reason)
        else attempt.lostReason ??= reason
      }
      const connection = await channel.connect(
        account.settings,
        contextOf(deps, account, { signal: stop.signal, lost }),
      )
      attempt.connection = connection
      if (stop.signal.aborted) return await connection.close()
      link.connection = connection
      if (attempt.lostReason !== undefined) return onLost(connection, attempt.lostReason)
      link.state = 'connected'
      if (!outage.worked(fields)) deps.log.info(fields, 'channel connected')
      deps.onConnected()
    } catch (error) {
      if (stop.signal.aborted) return
      link.state = 'failing'
      outage.failed(error, fields)
      retry = setTimeout(() => startConnecting(Math.min(waitMs * 2, longestRetryMs)), waitMs).unref()
    }
  }

  /** Ignored unless this is the current connection, which can be lost only once. */
  const onLost = (connection: Connection, reason: string): void => {
    if (stop.signal.aborted || link.connection !== connection) return
    link.connection = undefined
    link.state = 'failing'
    deps.log.warn({ ...fields, reason }, 'channel lost; it connects again')
    // `close` may hang if the platform is unreachable.
    void Promise.race([connection.close(), delay(closeMs, undefined, { ref: false })]).catch(() => undefined)
    retry = setTimeout(() => startConnecting(firstRetryMs), firstRetryMs).unref()
  }

  const startConnecting = (waitMs: number): void => {
    opening = connect(waitMs)
  }

  const link: Link = {
    account,
    channel,
    accountId,
    state: 'connecting',
    connection: undefined,
    open: () => startConnecting(firstRetryMs),
    close: async () => {
      stop.abort()
      clearTimeout(retry)
      const timeout = delay(closeMs, undefined, { ref: false })
      await Promise.race([opening, timeout])
      if (!link.connection) return
      await Promise.race([link.connection.close(), timeout])
      deps.log.info(fields, 'channel closed')
    },
  }
  return link
}

function contextOf(
  deps: ConnectionsDeps,
  account: Account,
  lifecycle: Pick<ChannelContext, 'signal' | 'lost'>,
): ChannelContext {
  return {
    accountId: account.accountId,
    ...lifecycle,
    log: createExtensionLog(deps.log, { channel: account.channel.name, accountId: account.accountId }),
    state: deps.state(`channel:${account.channel.name}:${account.accountId}`),
    receive: (message) => deps.receive(account, message),
  }
}
