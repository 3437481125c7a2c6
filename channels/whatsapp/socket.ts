// Opens one connection of a linked device to WhatsApp.
import type { ConnectionState, SocketConfig, WASocket, WAVersion } from 'baileys'
import type { Log } from 'svc-gateway/plugin'
import type { Config } from './config.ts'
import type { Credentials } from './credentials.ts'
import { createLibraryLog, type Library } from './library.ts'

interface SocketOptions {
  library: Library
  config: Config
  credentials: Credentials
  version: WAVersion
  log: Log
  /** What the library needs to know of earlier messages and of groups. */
  lookUps?: Pick<SocketConfig, 'cachedGroupMetadata' | 'getMessage'>
  /** Wraps the encryption of messages. */
  wrapRepository?: (create: SocketConfig['makeSignalRepository']) => SocketConfig['makeSignalRepository']
}

/** Codes with which WhatsApp, or the library, closes a connection. */
export const closeCode = {
  loggedOut: 401,
  blockedForNow: 402,
  forbidden: 403,
  outdated: 405,
  blocked: 406,
  lost: 408,
  multideviceMismatch: 411,
  closed: 428,
  replaced: 440,
  restartRequired: 515,
}

export function openSocket(options: SocketOptions): WASocket {
  const { library, config, credentials, version, log, lookUps, wrapRepository } = options
  const createRepository = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository
  const socket = library.makeWASocket({
    auth: credentials.auth,
    version,
    ...lookUps,
    ...(config.webSocketUrl && { waWebSocketUrl: config.webSocketUrl }),
    logger: createLibraryLog(log),
    makeSignalRepository: wrapRepository?.(createRepository) ?? createRepository,
    // Otherwise the phone shows no notifications for new messages.
    markOnlineOnConnect: false,
    // The gateway has its own history of conversations.
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    emitOwnEvents: false,
    defaultQueryTimeoutMs: 20_000,
    transactionOpts: { maxCommitRetries: 5, delayBetweenTriesMs: 500 },
  })
  socket.ev.on('creds.update', () => {
    credentials.save().catch((error: unknown) => log.error({ err: error }, 'the credentials could not be stored'))
  })
  return socket
}

/** How a connection was closed. */
export interface Close {
  code: number
  /** How long WhatsApp has blocked the account. */
  retryAfterMs?: number
}

/** Undefined if this update does not say that a connection was closed. */
export function closeOf({ connection, lastDisconnect }: Partial<ConnectionState>): Close | undefined {
  if (connection !== 'close') return undefined
  const { error } = lastDisconnect ?? {}
  const { data } = (error ?? {}) as { data?: { expire?: unknown } | null }
  const seconds = Number(data?.expire)
  const code = statusOf(error) ?? closeCode.closed
  return { code, ...(seconds > 0 && Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }) }
}

/** The status of an error of the library. */
export function statusOf(error: unknown): number | undefined {
  const { output } = (error ?? {}) as { output?: { statusCode?: unknown } }
  return typeof output?.statusCode === 'number' ? output.statusCode : undefined
}
