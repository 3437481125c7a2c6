// Watches what leaves the process: connections and requests, and plays a service that fails.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

/** Published by Node for each connection, and for each request of `fetch` or `node:http`, also on an open connection. */
const channels = ['net.client.socket', 'undici:request:create', 'http.client.request.start'] as const

/** @returns what has been sent or connected since, with the paths of requests, and a function that ends the watch */
export function watchOutside(): { seen: readonly string[]; paths: readonly string[]; stop(): void } {
  const seen: string[] = []
  const paths: string[] = []
  const note = (message: unknown, name: string | symbol) => {
    seen.push(String(name))
    const { request } = message as { request?: { path?: string } }
    if (request?.path !== undefined) paths.push(request.path)
  }
  for (const channel of channels) subscribe(channel, note)
  return { seen, paths, stop: () => channels.forEach((channel) => unsubscribe(channel, note)) }
}

/** The client sockets of the process that have not been closed. */
export function watchSockets(): { isClient(handle: object): boolean; stop(): void } {
  const sockets = new Set<Socket & { _handle?: object | null }>()
  const note = (message: unknown) => void sockets.add((message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  return {
    isClient: (handle) => [...sockets].some(({ _handle }) => _handle === handle),
    stop: () => void unsubscribe('net.client.socket', note),
  }
}

export type Outage = 'answers 500' | 'cannot be reached'

/** Every service fails while `run` runs, whether it is called with `fetch` or over a socket. */
export async function duringOutage(outage: Outage, run: () => Promise<void>): Promise<void> {
  const { fetch } = globalThis
  const { connect } = Socket.prototype
  const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  globalThis.fetch = async (input, options) => {
    new Request(input, options).signal.throwIfAborted()
    if (outage === 'answers 500') return new Response('Internal Server Error', { status: 500 })
    throw new TypeError('fetch failed', { cause: refused() })
  }
  Socket.prototype.connect = function (this: Socket) {
    return this.destroy(refused())
  }
  try {
    await run()
  } finally {
    globalThis.fetch = fetch
    Socket.prototype.connect = connect
  }
}
