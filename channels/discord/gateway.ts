// The connection to Discord's gateway, which delivers events: it identifies, resumes, and reports what it cannot mend.
import type { REST } from '@discordjs/rest'
import type { SessionInfo, WebSocketManager } from '@discordjs/ws'
import { withDeadline } from 'svc-gateway/kit'
import { AuthError } from 'svc-gateway/plugin'
import { errorOfFailure, refusedToken } from './failure.ts'

export interface GatewayDeps {
  rest: REST
  /** The address of the REST API, for errors. */
  apiRoot: string
  token: string
  /** The session to resume, from an earlier connection. */
  session: SessionInfo | undefined
  /** Ends an attempt to connect. */
  signal: AbortSignal
  /** Discord has started or resumed a session. What happened before may have to be fetched. */
  onDelivering(session: SessionInfo): void
  /** `session` continues after this message when it is resumed. */
  onMessage(data: unknown, session: SessionInfo | undefined): void
  /** Somebody has pressed a button, or used another part of the app. */
  onInteraction(data: unknown): void
  lost(reason: string | AuthError): void
}

/** Messages in servers, direct messages, and the text of messages. */
const intents = (1 << 9) | (1 << 12) | (1 << 15)

const connectMs = 30_000
const handshakeMs = 10_000

/** The library connects again at once and forever. After this many failures in a row, the gateway's backoff is used. */
const maxFailures = 3

/** Closes a socket so that its session can be resumed, unlike the usual 1000. */
const closeForResume = 4200

export async function openGateway(deps: GatewayDeps): Promise<{ close(): Promise<void> }> {
  const { WebSocketManager, WebSocketShardEvents } = await import('@discordjs/ws')
  const failed = Promise.withResolvers<never>()
  let isConnected = false
  const fail = (reason: string | AuthError): void => {
    if (isConnected) deps.lost(reason)
    else failed.reject(typeof reason === 'string' ? new Error(reason) : reason)
  }
  const socket = createSocketState(deps.session)
  const manager = new WebSocketManager({
    token: deps.token,
    rest: deps.rest,
    intents,
    // The sessions of all accounts would share one place in the library's own store.
    retrieveSessionInfo: socket.retrieveSession,
    updateSessionInfo: (_shard, session) => void (socket.session = session),
    shardCount: 1,
    handshakeTimeout: handshakeMs,
    helloTimeout: handshakeMs,
  })
  const { Hello, Closed, SocketError, Error: Failed, Ready, Resumed, Dispatch } = WebSocketShardEvents
  manager.on(Hello, socket.opened)
  manager.on(Closed, (code) => {
    const refusal = refusalOf(code)
    const failures = socket.closed(refusal !== undefined)
    if (refusal) fail(refusal)
    else if (failures >= maxFailures) fail(`Discord closed the connection with code ${code}.`)
  })
  // The library would then start a new session, which does not deliver what happens meanwhile. The gateway connects
  // again with the session that is stored.
  manager.on(SocketError, () => fail('The connection to Discord failed.'))
  // `Closed` has the code of the same failure. Without a listener, the library would end the process.
  manager.on(Failed, () => undefined)
  for (const event of [Ready, Resumed] as const)
    manager.on(event, () => {
      socket.delivering()
      if (socket.session) deps.onDelivering(socket.session)
    })
  manager.on(Dispatch, ({ t, s, d }: { t: string; s: number; d: unknown }) => {
    if (t === 'MESSAGE_CREATE') deps.onMessage(d, socket.session ? { ...socket.session, sequence: s } : undefined)
    else if (t === 'INTERACTION_CREATE') deps.onInteraction(d)
  })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= socket.close(manager))
  try {
    await Promise.race([connect(manager, deps), failed.promise])
    isConnected = true
    return { close }
  } catch (error) {
    await close()
    throw error
  }
}

const noSessions =
  'Discord lets the bot begin no more sessions today. Another program may connect with its token all the time.'

/** Resolves when Discord delivers events. */
async function connect(
  manager: WebSocketManager,
  { signal, apiRoot }: Pick<GatewayDeps, 'signal' | 'apiRoot'>,
): Promise<void> {
  const limit = { ms: connectMs, signals: [signal], reason: () => new Error('Discord did not answer in time.') }
  await withDeadline(limit, async () => {
    const { session_start_limit: limit } = await manager.fetchGatewayInformation()
    if (limit.remaining === 0) throw Object.assign(new Error(noSessions), { retryAfterMs: limit.reset_after })
    await manager.connect()
  }).catch((error: unknown) => {
    throw errorOfFailure(error, apiRoot)
  })
}

/** Follows the library's socket, whose state it does not show while it connects again. */
function createSocketState(initial: SessionInfo | undefined) {
  let state: 'none' | 'opening' | 'open' | 'ended' = 'none'
  let failures = 0
  let isClosing = false
  const [open, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

  const socket = {
    session: initial ?? null,
    /** The library asks for it before it opens a socket. It never gets it once the connection is to end. */
    retrieveSession(): SessionInfo | null | Promise<never> {
      if (state === 'none') state = 'opening'
      if (!isClosing) return socket.session
      stopped.resolve()
      return new Promise<never>(() => undefined)
    },
    opened(): void {
      state = 'open'
      if (isClosing) open.resolve()
    },
    delivering: () => void (failures = 0),
    /** @returns how many times in a row a socket was closed before it delivered events */
    closed(isFinal: boolean): number {
      state = isFinal ? 'ended' : 'opening'
      return ++failures
    },
    /**
     * Closing a socket that is still opening would leave it open, and end the process if it fails. While the library
     * waits for a session, its `destroy` does not resolve: it begins to connect again.
     */
    async close(manager: WebSocketManager): Promise<void> {
      isClosing = true
      if (state === 'opening') await Promise.race([open.promise, stopped.promise])
      await Promise.race([manager.destroy({ code: closeForResume }), stopped.promise])
    },
  }
  return socket
}

/** Why Discord closed the socket, if it would close the next one for the same reason. */
function refusalOf(code: number): AuthError | undefined {
  if (code === 4004) return new AuthError(refusedToken)
  if (code === 4011) return new AuthError('The bot is in more servers than one connection may serve (code 4011).')
  if (code === 4014) return new AuthError(missingIntent)
  const isFinal = code === 4010 || code === 4012 || code === 4013
  return isFinal ? new AuthError(`Discord does not accept connections of this kind (code ${code}).`) : undefined
}

const missingIntent =
  'Discord does not let the bot read messages. Switch on "Message Content Intent" on the page "Bot" of its application.'
