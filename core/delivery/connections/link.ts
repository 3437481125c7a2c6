// One account of a channel: connects it, connects it again after failures, and disconnects it for a login.
import { createExtensionLog } from '../../loader/extension-log.ts'
import type { Identities } from '../inbound/identities.ts'
import { createReceive } from '../inbound/receive.ts'
import type { ReportLateFailure } from '../outbox/late-failures.ts'
import type {
  Channel,
  ChannelContext,
  Connection,
  ExtensionState,
  InboundMessage,
  Log,
  AccountContext,
} from '../../plugin/plugin.ts'
import { createSupervisor, type Health, supervisedStates } from '../../reconnect.ts'

export interface Account {
  channel: Channel
  accountId: string
  /** Settings as described by the channel's schema. */
  settings: Record<string, unknown>
}

/** `login_required`: as `unauthorized`, but a login can repair it, or one is under way. */
export type LinkState = (typeof linkStates)[number]
export const linkStates = [...supervisedStates, 'login_required'] as const

export interface ConnectionState extends Health<LinkState> {
  channel: string
  accountId: string
}

export interface LinkDeps {
  /** Tries once to accept a message. Rejects if it cannot be stored. */
  receive(account: Account, message: InboundMessage): ReturnType<ChannelContext['receive']>
  reportLateFailure: ReportLateFailure
  moveGroup: Identities['moveGroup']
  /** Called when an account has connected, because deliveries may be waiting for it. */
  onConnected(): void
  state(owner: string): ExtensionState
  /** Says, as the end of a sentence, which package is not installed. Such an account is not connected. */
  findMissingPackages(account: Account): string | undefined
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
}

/** One account and its connection to the platform. */
export interface Link {
  account: Account
  channel: Channel
  accountId: string
  /** Absent while it is not connected. */
  readonly connection: Connection | undefined
  health(): ConnectionState
  /** Connects in the background, and retries on failure. */
  open(): void
  /** Closes the connection, if there is one. `open` connects again. */
  standBy(): Promise<void>
  /** Keeps the account disconnected while `work` runs, then connects it again. */
  whileDisconnected(work: () => Promise<void>): Promise<void>
  /** Closes the connection, if there is one, and connects again. */
  reconnect(): Promise<void>
  /** The context of a login. Its signal aborts when the link is closed. */
  loginContext(): AccountContext
  close(): Promise<void>
}

export function createLink(deps: LinkDeps, account: Account): Link {
  const { channel, accountId } = account
  const fields = { channel: channel.name, accountId }
  const context = {
    accountId,
    log: createExtensionLog(deps.log, fields),
    state: deps.state(`channel:${channel.name}:${accountId}`),
  }
  let login: { since: number } | undefined
  const supervisor = createSupervisor<Connection>({
    fields,
    open: ({ signal, lost }) => {
      const accept = (message: InboundMessage) => deps.receive(account, message)
      const receive = createReceive({ accept, signal, fields, log: deps.log })
      const undelivered: ChannelContext['undelivered'] = (key, detail) =>
        deps.reportLateFailure({ channel: channel.name, accountId, key, detail })
      const moved: ChannelContext['moved'] = (fromGroup, toGroup) => deps.moveGroup(fields, fromGroup, toGroup)
      return channel.connect(account.settings, { ...context, signal, lost, receive, undelivered, moved })
    },
    findMissing: () => {
      const missing = deps.findMissingPackages(account)
      return missing && `The channel "${channel.name}" ${missing}`
    },
    onOpened: deps.onConnected,
    redact: deps.redact,
    log: deps.log,
    messages: {
      opened: 'channel connected',
      failed: 'channel could not connect; it is tried again',
      lost: 'channel lost; it connects again',
      refused: channel.login
        ? 'channel needs a login'
        : 'channel refused by its platform; it waits for another configuration',
      closed: 'channel closed',
    },
  })

  function health(): Health<LinkState> {
    if (login) return { state: 'login_required', since: login.since, reason: 'A login is under way.' }
    const current = supervisor.health()
    return channel.login && current.state === 'unauthorized' ? { ...current, state: 'login_required' } : current
  }

  return {
    account,
    channel,
    accountId,
    get connection() {
      return supervisor.opened
    },
    health: () => ({ ...fields, ...health() }),
    open: () => void supervisor.open(),
    standBy: () => supervisor.standBy('Another gateway on the same store is connected.'),
    async whileDisconnected(work) {
      const before = health()
      login = { since: before.state === 'login_required' ? before.since : Date.now() }
      await supervisor.whileClosed(() => work().finally(() => (login = undefined)))
    },
    reconnect: supervisor.reopen,
    loginContext: () => ({ ...context, signal: supervisor.signal }),
    close: supervisor.close,
  }
}
