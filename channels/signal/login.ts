// Links signal-cli with an account: its owner scans a QR code with the Signal app.
import { type LoginStep } from 'svc-gateway/plugin'
import { createCall, methodNotFound, RpcError } from './rpc.ts'
import { fieldsOf, textOf } from './shapes.ts'

/** The name that the app shows in its list of linked devices. */
const deviceName = 'svc-gateway'

/** A QR code is valid for about a minute; then a new one replaces it, until somebody scans it or `signal` aborts. */
export async function* linkAccount(
  config: { httpUrl: string; account: string },
  signal: AbortSignal,
): AsyncGenerator<LoginStep> {
  const call = createCall(config)
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

const isTimeout = (error: unknown): boolean =>
  error instanceof RpcError && error.code === -1 && error.reason.includes('timed out')

/** Says what to do about the errors that people meet. */
function explain(error: unknown): never {
  if (error instanceof RpcError && error.code === methodNotFound)
    throw new Error('signal-cli serves a single account. Start its daemon without -a to link an account.')
  if (error instanceof RpcError && error.reason.includes('already exists'))
    throw new Error(
      'signal-cli already has data of this account. Run "signal-cli deleteLocalAccountData", then try again.',
    )
  throw error
}
