// Calls methods of signal-cli over HTTP.
import { randomUUID } from 'node:crypto'
import { readBytes, connectError, connectStatusError, fieldsOf, type Service } from 'svc-gateway/kit'

/** A method of signal-cli failed. The message is fixed, because that of signal-cli could quote anything. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  /** The reason as signal-cli words it. Compare it; do not show it. */
  readonly reason: string
  /** The results per recipient, if there are any. */
  readonly response: unknown

  constructor(method: string, error: unknown) {
    const { code, message, data } = fieldsOf(error)
    super(`signal-cli answered the call of ${method} with the error ${Number(code)}.`)
    this.code = Number(code)
    this.reason = String(message)
    this.response = fieldsOf(data)['response']
  }
}

/** The daemon, for errors that say why it could not be reached. */
function serviceOf(httpUrl: string): Service {
  const { host } = new URL(httpUrl)
  return {
    name: 'signal-cli',
    url: httpUrl,
    setting: 'httpUrl',
    start: `Start it with: signal-cli daemon --http ${host}`,
  }
}

/** signal-cli, or a proxy in front of it, answered with an error status. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly response: Response

  constructor(response: Response) {
    super(
      response.status === 421
        ? 'signal-cli refuses the host name in httpUrl; start its daemon with that name in --http.'
        : `signal-cli answered ${response.status}.`,
    )
    this.response = response
  }
}

/** Says why the daemon could not be reached. */
export function explainConnect(error: unknown, httpUrl: string): Error {
  const service = serviceOf(httpUrl)
  const isForeign = error instanceof StatusError && error.response.status !== 421
  return isForeign ? connectStatusError(error.response, service) : connectError(error, service)
}

/** JSON-RPC: the method does not exist, or not in this mode of the daemon. */
export const methodNotFound = -32601

export type Call = (method: string, params: object, signal: AbortSignal) => Promise<unknown>

/** A file of 20 MiB, as base64, and some. Larger ones are not stored. */
const longestAnswer = 30_000_000

/** @returns a function that calls a method for one account */
export function createCall({ httpUrl, account }: { httpUrl: string; account: string }): Call {
  return async (method, params, signal) => {
    const response = await fetch(endpointOf(httpUrl, 'rpc'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method, params: { account, ...params } }),
      signal,
    })
    await refuseErrorStatus(response)
    const answer = await readBytes(response, longestAnswer, signal)
    const { error, result } = fieldsOf(JSON.parse(answer.toString()))
    if (error !== undefined) throw new RpcError(method, error)
    return result
  }
}

/** The address of an endpoint, also if a proxy serves signal-cli below a path. */
export const endpointOf = (httpUrl: string, name: 'rpc' | 'events'): URL =>
  new URL(`api/v1/${name}`, httpUrl.endsWith('/') ? httpUrl : `${httpUrl}/`)

export async function refuseErrorStatus(response: Response): Promise<void> {
  if (response.ok) return
  await response.body?.cancel()
  throw new StatusError(response)
}
