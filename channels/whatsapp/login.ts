// Links an account to a phone with a QR code, and unlinks it.
import { type AccountContext, InputError, type LoginContext, type LoginStep } from 'svc-gateway/plugin'
import { type Config, isCloud } from './config.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import { type Library, loadLibrary } from './library.ts'
import { closeCode, closeCodeOf, openSocket } from './socket.ts'

/** Shows QR codes until the phone has scanned one. Each is valid for a short time. */
export async function* linkDevice(config: Config, context: LoginContext): AsyncIterable<LoginStep> {
  const library = await loadLibrary()
  const stored = await openCredentials(context.state, library)
  if (stored.isLinked()) return
  // Keys of a logout that was interrupted.
  await stored.wipe()
  const credentials = await openCredentials(context.state, library)
  while (!credentials.isLinked()) yield* showCodes({ library, config, context, credentials })
  await credentials.save()
}

interface LinkOptions {
  library: Library
  config: Config
  context: AccountContext
  credentials: Credentials
}

/** Shows the codes of one connection. Ends when the device is linked or the codes are used up. */
async function* showCodes({ library, config, context, credentials }: LinkOptions): AsyncIterable<LoginStep> {
  context.signal.throwIfAborted()
  const socket = openSocket({ library, config, credentials, log: context.log })
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(context.signal.reason)
  context.signal.addEventListener('abort', abort)
  const updates = new ReadableStream<{ qr: string } | { code: number }>({
    start(controller) {
      aborted.catch((error: unknown) => controller.error(error))
      socket.ev.on('connection.update', (update) => {
        if (update.qr) controller.enqueue({ qr: update.qr })
        const code = closeCodeOf(update)
        if (code !== undefined) controller.enqueue({ code })
      })
    },
  })
  let shown = 0
  try {
    for await (const update of updates) {
      if ('qr' in update) {
        shown++
        yield update
      } else if (credentials.isLinked() || (update.code === closeCode.lost && shown > 0)) return
      else throw new Error(`WhatsApp closed the connection (code ${update.code}).`)
    }
  } finally {
    context.signal.removeEventListener('abort', abort)
    socket.ev.removeAllListeners('connection.update')
    await socket.end(undefined)
  }
}

/** Unlinks the device, which the phone then no longer lists. The keys are deleted in any case. */
export async function unlinkDevice(config: Config, context: AccountContext): Promise<void> {
  if (isCloud(config))
    throw new InputError('The Cloud API has no login: remove its credentials from the configuration.')
  const library = await loadLibrary()
  const credentials = await openCredentials(context.state, library)
  if (credentials.isLinked()) {
    const isUnlinked = await tellServer({ library, config, context, credentials })
    if (!isUnlinked)
      context.log.warn({}, 'WhatsApp could not be reached: remove the device in the settings of the phone')
  }
  await credentials.wipe()
}

async function tellServer({ library, config, context, credentials }: LinkOptions): Promise<boolean> {
  const socket = openSocket({ library, config, credentials, log: context.log })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const abort = (): void => resolve(false)
  context.signal.addEventListener('abort', abort, { once: true })
  socket.ev.on('connection.update', (update) => {
    if (update.connection === 'open') resolve(true)
    const code = closeCodeOf(update)
    if (code !== undefined) resolve(code === closeCode.loggedOut)
  })
  const isOpen = await promise
  context.signal.removeEventListener('abort', abort)
  try {
    if (isOpen && socket.ws.isOpen) await socket.logout()
    else await socket.end(undefined)
  } catch {
    return false
  }
  return isOpen
}
