// One account of a channel: connects it, connects it again after failures, and disconnects it for a login.
import { setTimeout as delay } from 'node:timers/promises'
import { isAuthError } from '../../auth-error.ts'
import { describeThrown } from '../../errors.ts'
import { createExtensionLog } from '../../loader/extension-log.ts'
import { createOutage } from '../../outage.ts'
import type { ReportLateFailure } from '../outbox/late-failures.ts'
import type {
  Channel,
  ChannelContext,
  Connection,
  ExtensionState,
  InboundMessage,
  Log,
  LoginContext,
} from '../../plugin.ts'

export interface Account {
  channel: Channel
  accountId: string
  /** Settings as described by the channel's schema. */
  settings: Record<string, unknown>
}

/**
 * - `failing`: the connection failed or was lost. The gateway keeps trying, unless a package is missing.
 * - `unauthorized`: the platform refuses the credentials. The gateway waits for a change of the configuration.
 * - `login_required`: the same, but a login can repair it, or one is under way.
 */
export type LinkState = (typeof linkStates)[number]
export const linkStates = ['connecting', 'connected', 'failing', 'unauthorized', 'login_required'] as const

export interface ConnectionState {
  channel: string
  accountId: string
  state: LinkState
  /** Since when, in Unix milliseconds. */
  since: number
  /** Why it is not connected, without secrets. */
  reason?: string
}

export interface LinkDeps {
  receive(account: Account, message: InboundMessage): ReturnType<ChannelContext['receive']>
  reportLateFailure: ReportLateFailure
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
  /** Keeps the account disconnected while `work` runs, then connects it again. */
  whileDisconnected(work: () => Promise<void>): Promise<void>
  /** Closes the connection, if there is one, and connects again. */
  reconnect(): Promise<void>
  /** The context of a login. Its signal aborts when the link is closed. */
  loginContext(): LoginContext
  close(): Promise<void>
}

const firstRetryMs = 1_000
const longestRetryMs = 60_000
/** Time limit for `connect`. */
const connectMs = 60_000
/** Time limit for closing a connection, so that a channel cannot delay the stop. */
const closeMs = 3_000

/** One call of `connect` and the connection that it returns. */
interface Attempt {
  stop: AbortController
  startedAt: number
  connecting: Promise<Connection>
}

export function createLink(deps: LinkDeps, account: Account): Link {
  const { channel, accountId } = account
  const fields = { channel: channel.name, accountId }
  const closed = new AbortController()
  const context = {
    accountId,
    log: createExtensionLog(deps.log, fields),
    state: deps.state(`channel:${channel.name}:${accountId}`),
  }
  const outage = createOutage(deps.log, {
    level: 'warn',
    failed: 'channel could not connect; it is tried again',
    worked: 'channel connected',
    describe: describeThrown,
  })
  let health: Pick<ConnectionState, 'state' | 'since' | 'reason'> = { state: 'connecting', since: Date.now() }
  let current: Attempt | undefined
  let connection: Connection | undefined
  let retry: NodeJS.Timeout | undefined
  let waitMs = firstRetryMs
  let isPaused = false

  function setState(state: LinkState, reason?: string): void {
    const since = state === health.state ? health.since : Date.now()
    health = { state, since, ...(reason !== undefined && { reason: deps.redact(reason) }) }
  }

  function connect(): void {
    retry = undefined
    const missing = deps.findMissingPackages(account)
    if (missing !== undefined) return setState('failing', `The channel "${channel.name}" ${missing}`)
    const stop = new AbortController()
    const attempt: Attempt = { stop, startedAt: performance.now(), connecting: callConnect(stop.signal, onLost) }
    current = attempt
    const limit = setTimeout(() => onFailed(attempt, new Error(tooSlow)), connectMs).unref()
    attempt.connecting
      .then(
        (opened) => onConnected(attempt, opened),
        (error: unknown) => onFailed(attempt, error),
      )
      .finally(() => clearTimeout(limit))

    function onLost(reason: unknown): void {
      if (current !== attempt) return
      if (!isAuthError(reason))
        deps.log.warn({ ...fields, ...describeThrown(reason) }, 'channel lost; it connects again')
      leave(attempt, { error: reason, reason: stateReason(reason) })
    }
  }

  /** Begins in the next microtask, so that `connect` may call `lost` at once. */
  async function callConnect(signal: AbortSignal, lost: (reason: unknown) => void): Promise<Connection> {
    const receive: ChannelContext['receive'] = (message) => deps.receive(account, message)
    await Promise.resolve()
    const undelivered: ChannelContext['undelivered'] = (key, detail) =>
      deps.reportLateFailure({ channel: channel.name, accountId, key, detail })
    return await channel.connect(account.settings, { ...context, signal, lost, receive, undelivered })
  }

  function onConnected(attempt: Attempt, opened: Connection): void {
    if (current !== attempt) return
    connection = opened
    setState('connected')
    if (!outage.worked(fields)) deps.log.info(fields, 'channel connected')
    deps.onConnected()
  }

  function onFailed(attempt: Attempt, error: unknown): void {
    if (current !== attempt) return
    if (!isAuthError(error)) outage.failed(error, fields)
    leave(attempt, { error, reason: stateReason(error) })
  }

  /** Ends an attempt that failed or was lost. The next one waits for its end: many platforms allow one connection. */
  function leave(attempt: Attempt, { error, reason }: { error: unknown; reason: string }): void {
    if (performance.now() - attempt.startedAt > longestRetryMs) waitMs = firstRetryMs
    const ended = disconnect()
    if (isAuthError(error)) return giveUp(reason)
    setState('failing', reason)
    void ended.then(() => {
      if (closed.signal.aborted || isPaused || current || retry) return
      retry = setTimeout(connect, waitMs).unref()
      waitMs = Math.min(waitMs * 2, longestRetryMs)
    })
  }

  function giveUp(reason: string): void {
    setState(channel.login ? 'login_required' : 'unauthorized', reason)
    if (channel.login) deps.log.error({ ...fields, reason }, 'channel needs a login')
    else deps.log.error({ ...fields, reason }, 'channel refused by its platform; it waits for another configuration')
  }

  /** Also closes a connection that `connect` returns later. Never rejects. */
  async function disconnect(): Promise<void> {
    clearTimeout(retry)
    const attempt = current
    ;[current, connection, retry] = [undefined, undefined, undefined]
    if (!attempt) return
    attempt.stop.abort()
    const closing = attempt.connecting.then((opened) => opened.close())
    await Promise.race([closing, delay(closeMs, undefined, { ref: false })]).catch(() => undefined)
  }

  function start(): void {
    waitMs = firstRetryMs
    setState('connecting')
    connect()
  }

  return {
    account,
    channel,
    accountId,
    get connection() {
      return connection
    },
    health: () => ({ ...fields, ...health }),
    open: start,
    async whileDisconnected(work) {
      isPaused = true
      setState('login_required', 'A login is under way.')
      await disconnect()
      try {
        await work()
      } finally {
        isPaused = false
        if (!closed.signal.aborted) start()
      }
    },
    async reconnect() {
      await disconnect()
      if (!closed.signal.aborted && !isPaused && !current) start()
    },
    loginContext: () => ({ ...context, signal: closed.signal }),
    async close() {
      closed.abort()
      const wasConnected = connection !== undefined
      await disconnect()
      if (wasConnected) deps.log.info(fields, 'channel closed')
    },
  }
}

const tooSlow = `it did not connect within ${connectMs / 1000} seconds`

/** Why an account is not connected, for its state. The message of an `AuthError` is written for the operator. */
function stateReason(error: unknown): string {
  if (isAuthError(error)) return error.message
  const { reason, cause } = describeThrown(error)
  // The class of an ordinary error says nothing, and its message is a sentence for the operator.
  return [reason.replace(/^Error: /, ''), cause].filter(Boolean).join('; ')
}
