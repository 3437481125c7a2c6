// Connects an account as a linked device, as WhatsApp Web does.
import type { WASocket } from 'baileys'
import { AuthError, type ChannelContext, type Connection } from 'svc-gateway/plugin'
import { toJid } from './address.ts'
import { type Config, loginCommand } from './config.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import { type Library, loadLibrary } from './library.ts'
import { createReceiver } from './receive.ts'
import { createSender } from './send.ts'
import { isolateSessions } from './sessions.ts'
import { closeCode, closeCodeOf, openSocket } from './socket.ts'

const notLinked = (accountId: string): string => `The account is not linked. Log in with: ${loginCommand(accountId)}`

/** WhatsApp asks a device to restart after it was linked. It does not do so again and again. */
const maxRestarts = 3

export async function connectDevice(config: Config, context: ChannelContext): Promise<Connection> {
  const library = await loadLibrary()
  const credentials = await openCredentials(context.state, library)
  if (!credentials.isLinked()) throw new AuthError(notLinked(context.accountId))
  for (let restarts = 0; ; restarts++) {
    context.signal.throwIfAborted()
    const device = createDevice({ library, config, context, credentials })
    const code = await device.opened
    if (code === undefined) return device.connection
    await device.connection.close()
    if (code !== closeCode.restartRequired || restarts === maxRestarts)
      throw await errorOf(code, { credentials, accountId: context.accountId })
  }
}

interface DeviceOptions {
  library: Library
  config: Config
  context: ChannelContext
  credentials: Credentials
}

function createDevice({ library, config, context, credentials }: DeviceOptions) {
  const stop = new AbortController()
  const receiver = createReceiver({ library, config, credentials, context, signal: stop.signal })
  const sender = createSender({ signal: stop.signal })
  const socket = openSocket({
    library,
    config,
    credentials,
    log: context.log,
    wrapRepository: (create) => (auth, log, findLids) =>
      sender.watchEncryption(receiver.storeBeforeDecrypting(isolateSessions(create(auth, log, findLids), auth))),
  })
  receiver.listen(socket)
  sender.listen(socket)
  const opened = watchState(socket, context.signal, async (code) => {
    stop.abort()
    const error = await errorOf(code, { credentials, accountId: context.accountId })
    context.lost(error instanceof AuthError ? error : error.message)
  })
  const connection: Connection = {
    send: sender.send,
    async typing(to, on) {
      await socket.sendPresenceUpdate(on ? 'composing' : 'paused', toJid(to))
    },
    async close() {
      stop.abort()
      socket.ev.removeAllListeners('connection.update')
      await socket.end(undefined)
    },
  }
  // At once: while the socket is open, the library asks the sender again for a message that could not be stored.
  context.signal.addEventListener('abort', () => void connection.close(), { once: true })
  return { opened, connection }
}

/**
 * Resolves when the connection is open, or with the code with which it was closed before.
 * @param stop ends the waiting
 * @param onLost called when an open connection is closed
 */
function watchState(
  socket: WASocket,
  stop: AbortSignal,
  onLost: (code: number) => Promise<void>,
): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  let isOpen = false
  const abort = (): void => resolve(closeCode.closed)
  stop.addEventListener('abort', abort)
  socket.ev.on('connection.update', (update) => {
    if (update.connection === 'open') {
      isOpen = true
      resolve(undefined)
    }
    const code = closeCodeOf(update)
    if (code === undefined) return
    resolve(code)
    if (isOpen) void onLost(code)
  })
  return promise.finally(() => stop.removeEventListener('abort', abort))
}

interface Account {
  credentials: Credentials
  accountId: string
}

/** What a close code means. After a logout the credentials are worthless, so they are deleted. */
async function errorOf(code: number, { credentials, accountId }: Account): Promise<Error> {
  switch (code) {
    case closeCode.loggedOut:
      await credentials.wipe()
      return new AuthError(`WhatsApp has unlinked this device. ${notLinked(accountId)}`)
    case closeCode.forbidden:
      return new AuthError('WhatsApp has blocked this account.')
    case closeCode.multideviceMismatch:
      return new AuthError('The phone does not support linked devices. Update WhatsApp on it and log in again.')
    case closeCode.replaced:
      return new AuthError('Another program uses the same linked device. Stop it, then restart this gateway.')
    case closeCode.outdated:
      return new Error('WhatsApp refuses this version of baileys. Install a newer one.')
    case closeCode.lost:
      return new Error('WhatsApp does not answer. Check the network of this machine, and whether it allows WebSockets.')
    default:
      return new Error(`WhatsApp closed the connection (code ${code}).`)
  }
}
