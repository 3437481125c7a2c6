// The Socket Mode connection: hands over one event at a time, and confirms each to Slack when it has been handled.
import type { SocketModeClient, SocketModeOptions } from '@slack/socket-mode'
import { createSerialQueue, fieldsOf, fieldsOfJson } from 'svc-gateway/kit'
import { AuthError, type ChannelContext } from 'svc-gateway/plugin'
import { toAuthError } from './errors.ts'

interface SocketDeps {
  appToken: string
  options: NonNullable<SocketModeOptions['clientOptions']> & Pick<SocketModeOptions, 'logger'> & { slackApiUrl: string }
  context: Pick<ChannelContext, 'lost' | 'log' | 'signal'>
  /** Handles an event, which is confirmed to Slack afterwards, unless it rejects. */
  onEvent(event: unknown): Promise<void>
  /** Handles a press of a button, and other interactions, which are confirmed as events are. */
  onInteraction(payload: unknown): Promise<void>
}

/** An event as the library hands it over. */
interface Envelope {
  ack(): Promise<void>
  type?: string
  body?: { event?: unknown }
}

/** Time limit for Slack's first message on a new connection. */
const helloMs = 20_000
/** How long Slack may take to close a connection. It often leaves it open. */
const closeMs = 500

export async function openSocket(deps: SocketDeps): Promise<{ close(): Promise<void> }> {
  const { context } = deps
  const events = createSerialQueue()
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  let current: SocketModeClient | undefined
  let replacement: Promise<void> | undefined
  current = await start()

  async function start(): Promise<SocketModeClient> {
    const socket = await createSocket(deps, signal)
    let reason = 'Slack closed the connection at once.'
    socket.on('slack_event', (envelope: Envelope) => void events.add(() => handle(envelope)))
    forwardWellFormed(socket, {
      onDisconnect(isDisabled) {
        if (socket === current) return isDisabled ? lose(disabled) : replace(socket)
        reason = isDisabled ? disabled : 'Slack asked for another connection at once.'
        void closeSocket(socket)
      },
      log: context.log,
    })
    await startSocket(socket, { signal, apiRoot: deps.options.slackApiUrl, reason: () => reason })
    socket.once('disconnected', () => socket === current && lose('Slack closed the connection.'))
    return socket
  }

  /** Slack delivers an event again that is not confirmed, for example because the gateway stops. */
  async function handle({ type, body, ack }: Envelope): Promise<void> {
    if (stop.signal.aborted) return
    try {
      await (type === 'interactive' ? deps.onInteraction(body) : deps.onEvent(body?.event))
      await ack()
    } catch {
      context.log.debug({}, 'an event could not be confirmed')
    }
  }

  /** Slack announces the end of a connection, maybe twice: it warns of it, and then asks for another one. */
  function replace(old: SocketModeClient): void {
    if (!stop.signal.aborted) replacement ??= open(old).finally(() => (replacement = undefined))
  }

  /** The new connection is open before the old one closes, so there is no gap. */
  async function open(old: SocketModeClient): Promise<void> {
    try {
      current = await start()
      await closeSocket(old)
    } catch (error) {
      const isClear = error instanceof AuthError || 'retryAfterMs' in (error as object)
      lose(isClear ? error : 'Slack asked for a new connection, which could not be opened.')
    }
  }

  function lose(reason: unknown): void {
    if (!stop.signal.aborted) context.lost(reason)
  }

  return {
    async close() {
      stop.abort()
      await Promise.all([events.settled(), replacement])
      if (current) await closeSocket(current)
    },
  }
}

const disabled = 'Socket Mode is switched off for the app. Switch it on under "Socket Mode" in its settings.'

async function createSocket({ appToken, options }: SocketDeps, signal: AbortSignal): Promise<SocketModeClient> {
  const { SocketModeClient } = await import('@slack/socket-mode')
  const { logger, ...others } = options
  const clientOptions: typeof options = {
    ...others,
    // The library opens a socket when its call is answered, also after `disconnect`.
    fetch: (url, init) =>
      fetch(url, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) }),
  }
  // The library's own reconnecting waits at least five seconds, and a failure of it would end the process.
  return new SocketModeClient({ appToken, autoReconnectEnabled: false, clientOptions, ...(logger && { logger }) })
}

interface Starting {
  signal: AbortSignal
  apiRoot: string
  /** Why the connection ended before its greeting. */
  reason(): string
}

async function startSocket(socket: SocketModeClient, { signal, apiRoot, reason }: Starting): Promise<void> {
  const end = () => void socket.disconnect()
  const timer = setTimeout(end, helloMs)
  signal.addEventListener('abort', end, { once: true })
  try {
    await socket.start()
    signal.throwIfAborted()
  } catch (error) {
    await closeSocket(socket)
    // The library rejects with nothing if the connection closes.
    throw error === undefined ? new Error(reason()) : toAuthError(error, { token: appTokenName, apiRoot })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

const appTokenName = 'the app-level token'

/** The library waits for Slack to close the connection; called once more, it closes it by itself. */
async function closeSocket(socket: SocketModeClient): Promise<void> {
  const timer = setTimeout(() => void socket.disconnect(), closeMs)
  await socket.disconnect()
  clearTimeout(timer)
}

interface Forwarding {
  /** Slack is about to close the connection, because it wants another one or because it allows none any more. */
  onDisconnect(isDisabled: boolean): void
  log: ChannelContext['log']
}

/** The library fails with an unhandled rejection if a message has another shape than it expects. */
function forwardWellFormed(socket: SocketModeClient, { onDisconnect, log }: Forwarding): void {
  const handlers = socket.listeners('ws_message')
  socket.removeAllListeners('ws_message')
  socket.on('ws_message', (data: unknown) => {
    const message = fieldsOfJson(String(data))
    if (message['type'] === 'disconnect') onDisconnect(message['reason'] === 'link_disabled')
    else if (isExpected(message)) for (const handler of handlers) handler(data, false)
    else log.debug({}, 'a message of Slack was ignored: it has an unknown shape')
  })
}

function isExpected({ type, envelope_id: id, payload }: Readonly<Record<string, unknown>>): boolean {
  if (type === 'hello') return true
  if (typeof type !== 'string' || typeof id !== 'string') return false
  if (type !== 'events_api') return true
  return typeof fieldsOf(fieldsOf(payload)['event'])['type'] === 'string'
}
