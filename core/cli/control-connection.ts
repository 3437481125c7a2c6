// The WebSocket of a running gateway: calls methods and receives notifications.
import { WebSocket } from 'ws'
import { readJson } from '../json.ts'
import type { ControlClient, ControlConnection } from '../plugin/command.ts'
import { CommandError, exitCodes } from '../plugin/errors.ts'
import { createUnreachableError, type GatewayAccessPoint } from './locate-gateway.ts'

interface Message {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string; data?: { type: string } }
}

/** Connects and authenticates. Rejects with a CommandError. */
export async function connectControl(
  { address, credential, source }: GatewayAccessPoint,
  onNotification: Parameters<ControlClient['connect']>[0],
): Promise<ControlConnection> {
  const socket = new WebSocket(`${address.replace(/^http/, 'ws')}/ws`, { handshakeTimeout: 10_000 })
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<string>()
  let lastId = 0

  const call = (method: string, params: object): Promise<never> => {
    const waiting = Promise.withResolvers<unknown>()
    lastId += 1
    if (socket.readyState !== socket.OPEN) waiting.reject(lostConnection(address, 'it is closed'))
    else {
      pending.set(lastId, waiting)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }))
    }
    return waiting.promise as Promise<never>
  }

  socket.on('message', (data: Buffer) => {
    const { id, method, params, result, error } = readJson(data.toString('utf8')) as Message
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
  socket.once('open', opened.resolve)
  // Later errors are followed by the close event.
  socket.on('error', (error: NodeJS.ErrnoException) => opened.reject(createUnreachableError(address, error)))
  await opened.promise
  await call('auth', { token: credential }).catch((error: CommandError) => {
    throw error.response?.type === 'unauthorized'
      ? new CommandError(`The gateway at ${address} rejects the credential from ${source}.`)
      : error
  })
  return { call, closed: closed.promise, [Symbol.dispose]: () => socket.close() }
}

const lostConnection = (address: string, reason: string): CommandError => {
  const text = `The connection to the gateway at ${address} was lost (${reason.replace(/\.$/, '')}).`
  return new CommandError(text, exitCodes.unreachable)
}
