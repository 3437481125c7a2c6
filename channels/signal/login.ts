// Links signal-cli with an account: its owner scans a QR code with the Signal app.
import { InputError, type LoginStep } from 'svc-gateway/plugin'
import { fieldsOf, textOf } from 'svc-gateway/kit'
import { type Call, createCall, explainConnect, methodNotFound, RpcError } from './rpc.ts'

/** The name that the app shows in its list of linked devices. */
const deviceName = 'svc-gateway'

/** A QR code is valid for about a minute; then a new one replaces it, until somebody scans it or `signal` aborts. */
export async function* linkAccount(
  config: { httpUrl: string; account: string },
  signal: AbortSignal,
): AsyncGenerator<LoginStep> {
  const call = createLoginCall(config)
  let number: string | undefined
  while (number === undefined) {
    signal.throwIfAborted()
    const deviceLinkUri = textOf(fieldsOf(await call('startLink', {}, signal).catch(explain))['deviceLinkUri'])
    if (deviceLinkUri === undefined) throw new Error('signal-cli answered without a link to show.')
    yield { qr: deviceLinkUri }
    try {
      number = textOf(fieldsOf(await call('finishLink', { deviceLinkUri, deviceName }, signal))['number'])
      if (number === undefined) throw new Error('signal-cli answered without the number of the account.')
    } catch (error) {
      if (!isTimeout(error)) explain(error)
    }
  }
  if (number !== config.account)
    throw new Error(`The account ${number} was linked, but the configuration names ${config.account}.`)
}

/**
 * Deletes the data of an account that Signal does not know any more. A linked device cannot unlink itself, and the keys
 * of an account that still exists would be lost for good, so its owner has to remove the device first.
 */
export async function forgetAccount(config: { httpUrl: string; account: string }, signal: AbortSignal): Promise<void> {
  const call = createLoginCall(config)
  // While signal-cli deletes the data it stops serving the account, so it is asked only once that can succeed.
  const isLinked = await call('listDevices', {}, signal).then(() => true, ifRpcError(false))
  if (isLinked) throw stillLinked()
  try {
    await call('deleteLocalAccountData', {}, signal)
  } catch (error) {
    if (error instanceof RpcError && error.reason.includes('still registered')) throw stillLinked()
    if (error instanceof RpcError && error.reason.includes('Failed to load')) return
    explain(error)
  }
}

const ifRpcError =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (error instanceof RpcError && error.code !== methodNotFound) return value
    return explain(error)
  }

const stillLinked = (): InputError =>
  new InputError(
    'Signal still lists this device. On the phone, open Settings, Linked devices, and remove it; then try again.',
  )

const isTimeout = (error: unknown): boolean =>
  error instanceof RpcError && error.code === -1 && error.reason.includes('timed out')

/** Says what to do about the errors that people meet. */
function explain(error: unknown): never {
  if (error instanceof RpcError && error.code === methodNotFound)
    throw new Error('signal-cli serves a single account. Start its daemon without -a to link or unlink an account.')
  if (error instanceof RpcError && error.reason.includes('already exists'))
    throw new Error(
      'signal-cli already has data of this account. Run "signal-cli deleteLocalAccountData", then try again.',
    )
  throw error
}

/** The same call, whose errors say why the daemon could not be reached. */
function createLoginCall(config: { httpUrl: string; account: string }): Call {
  const call = createCall(config)
  return (...request) =>
    call(...request).catch((error: unknown) => {
      throw explainConnect(error, config.httpUrl)
    })
}
