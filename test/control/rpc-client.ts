// A WebSocket client for tests: calls that wait for their response, and notifications.
import { once } from 'node:events'
import { type ClientOptions, WebSocket } from 'ws'
import { onTestFinished } from 'vitest'
import { gatewayToken } from '../helpers.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- the test asserts what it must be
type Anything = any

export interface RpcClient {
  socket: WebSocket
  /** Resolves with the response. */
  call(method: string, params?: unknown): Promise<Anything>
  /** Sends raw text. Resolves with the next message that is not a notification. */
  exchange(text: string): Promise<Anything>
  notifications: Anything[]
  /** Resolves with the first past or future notification that fits. */
  until(fits: (notification: Anything) => boolean): Promise<Anything>
  closed: Promise<{ code: number; reason: string }>
}

/** @param url The URL of the gateway, `http://…`. */
export async function connectRpc(url: string, options: ClientOptions = {}): Promise<RpcClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, options)
  onTestFinished(() => socket.terminate())
  const client = attach(socket)
  await once(socket, 'open')
  return client
}

/** Connects and authenticates. */
export async function login(url: string, options: ClientOptions = {}): Promise<RpcClient> {
  const client = await connectRpc(url, options)
  await client.call('auth', { token: gatewayToken })
  return client
}

/** Returns the response to a refused handshake. */
export async function refusal(
  url: string,
  options: ClientOptions = {},
): Promise<{ status: number; body: Anything; headers: Anything }> {
  const socket = new WebSocket(url.replace('http', 'ws'), options)
  socket.on('error', () => {})
  const [, response] = await once(socket, 'unexpected-response')
  const body = (await response.toArray()).join('')
  return { status: response.statusCode, body: JSON.parse(body), headers: response.headers }
}

function attach(socket: WebSocket): RpcClient {
  const notifications: Anything[] = []
  const answers = new Map<unknown, (answer: Anything) => void>()
  const arrivals = new EventTarget()
  let others: ((answer: Anything) => void)[] = []
  let count = 0

  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString())
    if (message.method) {
      notifications.push(message)
      arrivals.dispatchEvent(new Event('notification'))
    } else if (answers.has(message.id)) answers.get(message.id)!(message)
    else {
      for (const resolve of others) resolve(message)
      others = []
    }
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })

  return {
    socket,
    notifications,
    closed,
    call: (method, params) => {
      const id = (count += 1)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      return new Promise((resolve) => answers.set(id, resolve))
    },
    exchange: (text) => {
      socket.send(text)
      return new Promise((resolve) => others.push(resolve))
    },
    until: async (fits) => {
      for (;;) {
        const found = notifications.find(fits)
        if (found) return found
        await once(arrivals, 'notification')
      }
    },
  }
}
