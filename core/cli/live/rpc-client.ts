// The WebSocket of a running gateway: calls methods and receives notifications.
import { WebSocket } from 'ws'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import type { GatewayAccessPoint } from '../control-client.ts'

/** It is disposed by closing it. */
export interface Rpc extends Disposable {
  /** Rejects with a CommandError. */
  call(method: string, params: object): Promise<unknown>
  /** Resolves with the reason when the connection is closed. */
  closed: Promise<string>
}

export type OnNotification = (method: string, params: unknown) => void

interface Message {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string; data?: { type: string } }
}

type Pending = PromiseWithResolvers<unknown>

/** Connects and authenticates. Rejects with a CommandError. */
export async function connectRpc(gateway: GatewayAccessPoint, onNotification: OnNotification): Promise<Rpc> {
  const { address, credential, source } = gateway
  const socket = new WebSocket(`${address.replace(/^http/, 'ws')}/ws`, { handshakeTimeout: 10_000 })
  const pending = new Map<number, Pending>()
  const closed = Promise.withResolvers<string>()
  let lastId = 0

  const call = (method: string, params: object): Promise<unknown> => {
    const waiting: Pending = Promise.withResolvers()
    lastId += 1
    if (socket.readyState !== socket.OPEN) waiting.reject(lostConnection(address, 'it is closed'))
    else {
      pending.set(lastId, waiting)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }))
    }
    return waiting.promise
  }

  socket.on('message', (data: Buffer) => {
    const { id, method, params, result, error } = JSON.parse(data.toString('utf8')) as Message
    if (method !== undefined) return onNotification(method, params)
    const waiting = pending.get(id ?? 0)
    pending.delete(id ?? 0)
    if (error) waiting?.reject(new CommandError(error.message, 1, { type: error.data?.type ?? '', ...error }))
    else waiting?.resolve(result)
  })
  socket.on('close', (code, reason) => {
    const why = reason.toString('utf8') || `code ${code}`
    for (const { reject } of pending.values()) reject(lostConnection(address, why))
    closed.resolve(why)
  })
  await opened(socket, address)
  await call('auth', { token: credential }).catch((error: CommandError) => {
    throw error.response?.type === 'unauthorized'
      ? new CommandError(`The gateway at ${address} rejects the credential from ${source}.`)
      : error
  })
  return { call, closed: closed.promise, [Symbol.dispose]: () => socket.close() }
}

const lostConnection = (address: string, reason: string): CommandError =>
  new CommandError(`The connection to the gateway at ${address} was lost (${reason.replace(/\.$/, '')}).`, exitCodes.unreachable)

function opened(socket: WebSocket, address: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('open', resolve)
  // Later errors are followed by the close event.
  socket.on('error', ({ code, message }: NodeJS.ErrnoException) =>
    reject(
      new CommandError(
        `No gateway answers at ${address} (${code ?? message}); start it, or give its address with --url.`,
        exitCodes.unreachable,
      ),
    ),
  )
  return promise
}
