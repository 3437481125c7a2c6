// Connects an account as a linked device, as WhatsApp Web does.
import type { WASocket, WAMessageKey, WAVersion } from 'baileys'
import { AuthError, type ChannelContext, type Connection } from 'svc-gateway/plugin'
import { isNumber, isSameUser, toJid } from './address.ts'
import { renewVersion, resolveVersion } from './client-version.ts'
import { type Config, loginCommand } from './config.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import { createGroups } from './groups.ts'
import { type Library, loadLibrary } from './library.ts'
import { createReceiver } from './receive.ts'
import { createSender } from './send.ts'
import { createSentMessages, type SentMessage } from './sent-messages.ts'
import { isolateSessions } from './sessions.ts'
import { type Close, closeCode, closeOf, openSocket } from './socket.ts'

const notLinked = (accountId: string): string => `The account is not linked. Log in with: ${loginCommand(accountId)}`

/** WhatsApp asks a device to restart after it was linked. It does not do so again and again. */
const maxRestarts = 3

export async function connectDevice(config: Config, context: ChannelContext): Promise<Connection> {
  const library = await loadLibrary()
  const credentials = await openCredentials(context.state, library)
  if (!credentials.isLinked()) throw new AuthError(notLinked(context.accountId))
  const options = { library, config, context }
  let version = await resolveVersion(options)
  for (let restarts = 0; ; restarts++) {
    context.signal.throwIfAborted()
    const device = createDevice({ ...options, credentials, version })
    const close = await device.opened
    if (close === undefined) return device.connection
    await device.connection.close()
    if (close.code === closeCode.outdated && restarts < maxRestarts) version = await renewVersion(version, options)
    else if (close.code !== closeCode.restartRequired || restarts === maxRestarts)
      throw await errorOf(close, { credentials, accountId: context.accountId })
  }
}

interface DeviceOptions {
  library: Library
  config: Config
  context: ChannelContext
  credentials: Credentials
  version: WAVersion
}

function createDevice({ library, config, context, credentials, version }: DeviceOptions) {
  const stop = new AbortController()
  const receiver = createReceiver({ library, config, credentials, context, signal: stop.signal })
  const sent = createSentMessages(context.state)
  const groups = createGroups()
  const sender = createSender({ library, sent, log: context.log, signal: stop.signal })
  const socket: WASocket = openSocket({
    library,
    config,
    credentials,
    version,
    log: context.log,
    lookUps: {
      cachedGroupMetadata: groups.get,
      async getMessage(key) {
        const message = key.id ? await sent.find(key.id) : undefined
        return message && (await isRecipient(socket, message, key))
          ? library.proto.Message.decode(message.data)
          : undefined
      },
    },
    wrapRepository: (create) => (auth, log, findLids) =>
      sender.watchEncryption(receiver.storeBeforeDecrypting(isolateSessions(create(auth, log, findLids), auth))),
  })
  receiver.listen(socket)
  sender.listen(socket)
  groups.listen(socket)
  const opened = watchState(socket, context.signal, async (close) => {
    stop.abort()
    const error = await errorOf(close, { credentials, accountId: context.accountId })
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

/** Whoever knows the id of a message may ask for it again, but only who got it gets it. A person has a number and a LID. */
async function isRecipient({ signalRepository }: WASocket, { to }: SentMessage, key: WAMessageKey): Promise<boolean> {
  const asking = key.remoteJid ?? ''
  if (isSameUser(to, asking)) return true
  const lidOf = async (jid: string): Promise<string> =>
    (isNumber(jid) ? await signalRepository.lidMapping.getLIDForPN(jid) : undefined) ?? jid
  return isSameUser(await lidOf(to), await lidOf(asking))
}

/**
 * Resolves when the connection is open, or with how it was closed before.
 * @param stop ends the waiting
 * @param onLost called when an open connection is closed
 */
function watchState(
  socket: WASocket,
  stop: AbortSignal,
  onLost: (close: Close) => Promise<void>,
): Promise<Close | undefined> {
  const { promise, resolve } = Promise.withResolvers<Close | undefined>()
  let isOpen = false
  const abort = (): void => resolve({ code: closeCode.closed })
  stop.addEventListener('abort', abort)
  socket.ev.on('connection.update', (update) => {
    if (update.connection === 'open') {
      isOpen = true
      resolve(undefined)
    }
    const close = closeOf(update)
    if (!close) return
    resolve(close)
    if (isOpen) void onLost(close)
  })
  return promise.finally(() => stop.removeEventListener('abort', abort))
}

interface Account {
  credentials: Credentials
  accountId: string
}

/** What a close code means. After a logout the credentials are worthless, so they are deleted. */
async function errorOf({ code, ...wait }: Close, { credentials, accountId }: Account): Promise<Error> {
  switch (code) {
    case closeCode.loggedOut:
      await credentials.wipe()
      return new AuthError(`WhatsApp has unlinked this device. ${notLinked(accountId)}`)
    case closeCode.blockedForNow:
      return Object.assign(new Error('WhatsApp has blocked this account for a while. Send fewer messages.'), wait)
    case closeCode.forbidden:
    case closeCode.blocked:
      return new AuthError('WhatsApp has blocked this account.')
    case closeCode.multideviceMismatch:
      return new AuthError('The phone does not support linked devices. Update WhatsApp on it and log in again.')
    case closeCode.replaced:
      return new AuthError('Another program uses the same linked device. Stop it, then restart this gateway.')
    case closeCode.outdated:
      return new Error('WhatsApp refuses the client version (405).')
    case closeCode.lost:
      return new Error('WhatsApp does not answer. Check the network of this machine, and whether it allows WebSockets.')
    default:
      return new Error(`WhatsApp closed the connection (code ${code}).`)
  }
}
