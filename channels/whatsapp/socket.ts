// Opens one connection of a linked device to WhatsApp.
import type { ConnectionState, SocketConfig, WASocket } from 'baileys'
import type { Log } from 'svc-gateway/plugin'
import type { Config } from './config.ts'
import type { Credentials } from './credentials.ts'
import { createLibraryLog, type Library } from './library.ts'

interface SocketOptions {
  library: Library
  config: Config
  credentials: Credentials
  log: Log
  /** Wraps the encryption of messages. */
  wrapRepository?: (create: SocketConfig['makeSignalRepository']) => SocketConfig['makeSignalRepository']
}

/** Codes with which WhatsApp, or the library, closes a connection. */
export const closeCode = {
  loggedOut: 401,
  forbidden: 403,
  outdated: 405,
  lost: 408,
  multideviceMismatch: 411,
  closed: 428,
  replaced: 440,
  restartRequired: 515,
}

export function openSocket({ library, config, credentials, log, wrapRepository }: SocketOptions): WASocket {
  const createRepository = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository
  const socket = library.makeWASocket({
    auth: credentials.auth,
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

/** The code with which a connection was closed, if this update says that. */
export function closeCodeOf({ connection, lastDisconnect }: Partial<ConnectionState>): number | undefined {
  if (connection !== 'close') return undefined
  return statusOf(lastDisconnect?.error) ?? closeCode.closed
}

/** The status of an error of the library. */
export function statusOf(error: unknown): number | undefined {
  const { output } = (error ?? {}) as { output?: { statusCode?: unknown } }
  return typeof output?.statusCode === 'number' ? output.statusCode : undefined
}
