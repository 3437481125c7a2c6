// Links an account to a phone with a QR code, and unlinks it.
import type { WAVersion } from 'baileys'
import { type AccountContext, InputError, type LoginContext, type LoginStep } from 'svc-gateway/plugin'
import { renewVersion, resolveVersion } from './client-version.ts'
import { type Config, isCloud } from './config.ts'
import { type Credentials, openCredentials } from './credentials.ts'
import { type Library, loadLibrary } from './library.ts'
import { closeCode, closeOf, openSocket } from './socket.ts'

/** Shows QR codes until the phone has scanned one. Each is valid for a short time. */
export async function* linkDevice(config: Config, context: LoginContext): AsyncIterable<LoginStep> {
  const library = await loadLibrary()
  const stored = await openCredentials(context.state, library)
  if (stored.isLinked()) return
  // Keys of a logout that was interrupted.
  await stored.wipe()
  const credentials = await openCredentials(context.state, library)
  const options = { library, config, context }
  let version = await resolveVersion(options)
  for (let renewals = 0; !credentials.isLinked();) {
    const isOutdated = yield* showCodes({ ...options, credentials, version })
    if (isOutdated && ++renewals > maxRenewals) throw new Error('WhatsApp refuses the client version (405).')
    if (isOutdated) version = await renewVersion(version, options)
  }
  await credentials.save()
}

/** It does not change again and again. */
const maxRenewals = 3

interface LinkOptions {
  library: Library
  config: Config
  context: AccountContext
  credentials: Credentials
  version: WAVersion
}

/**
 * Shows the codes of one connection. Ends when the device is linked or the codes are used up.
 * @returns true if WhatsApp has refused the version before it gave a code
 */
async function* showCodes({ context, credentials, ...options }: LinkOptions): AsyncGenerator<LoginStep, boolean> {
  context.signal.throwIfAborted()
  const socket = openSocket({ ...options, credentials, log: context.log })
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(context.signal.reason)
  context.signal.addEventListener('abort', abort)
  const updates = new ReadableStream<{ qr: string } | { code: number }>({
    start(controller) {
      aborted.catch((error: unknown) => controller.error(error))
      socket.ev.on('connection.update', (update) => {
        if (update.qr) controller.enqueue({ qr: update.qr })
        const close = closeOf(update)
        if (close) controller.enqueue({ code: close.code })
      })
    },
  })
  let shown = 0
  try {
    for await (const update of updates) {
      if ('qr' in update) {
        shown++
        yield update
      } else if (credentials.isLinked() || (update.code === closeCode.lost && shown > 0)) return false
      else if (update.code === closeCode.outdated) return true
      else throw new Error(`WhatsApp closed the connection (code ${update.code}).`)
    }
    return false
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
    const version = await resolveVersion({ library, config, context })
    const isUnlinked = await tellServer({ library, config, context, credentials, version })
    if (!isUnlinked)
      context.log.warn({}, 'WhatsApp could not be reached: remove the device in the settings of the phone')
  }
  await credentials.wipe()
}

async function tellServer({ context, ...options }: LinkOptions): Promise<boolean> {
  const socket = openSocket({ ...options, log: context.log })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const abort = (): void => resolve(false)
  context.signal.addEventListener('abort', abort, { once: true })
  socket.ev.on('connection.update', (update) => {
    if (update.connection === 'open') resolve(true)
    const close = closeOf(update)
    if (close) resolve(close.code === closeCode.loggedOut)
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
