// The WebSocket: hands over each new post, and reports the connection as lost when it breaks or misses something.
import type Library from '@mattermost/client'
import type { ChannelContext } from 'svc-gateway/plugin'
import { isPost, type Post } from './inbound.ts'

interface SocketDeps {
  url: string
  botToken: string
  context: Pick<ChannelContext, 'lost' | 'log' | 'signal'>
  onPost(post: Post): void
}

/** Time limit for the server's first message. */
const helloMs = 20_000
/** The REST API has answered before. */
const proxyHint = 'If a proxy is in front of it, it must pass on WebSockets to /api/v4/websocket.'
/** A server that does not answer within this time is gone. */
const pingMs = 30_000
/** The longest time that a timer knows: the gateway reconnects and pings, not the library. */
const never = 2 ** 31 - 1

export async function openSocket({ url, botToken, context, onPost }: SocketDeps) {
  const { default: library } = await import('@mattermost/client')
  const hello = Promise.withResolvers<void>()
  const { client, closeSocket } = createClient(library, context.log)
  let state: 'opening' | 'open' | 'ended' = 'opening'
  let watchdog: NodeJS.Timeout | undefined

  client.addMessageListener(({ event, data }) => {
    if ((event as string) === 'hello') hello.resolve()
    if ((event as string) !== 'posted') return
    const post = readPost(data)
    if (post) onPost(post)
    else context.log.debug({}, 'an event of Mattermost was ignored: it has an unknown shape')
  })
  // Without this listener, the library takes each new connection for one that has missed something.
  client.addMissedMessageListener(ignore)
  // The library sets a timer after this call, which `close` has to end.
  client.addCloseListener(() => queueMicrotask(() => end('Mattermost closed the connection.')))

  function end(reason: string): void {
    hello.reject(new Error(`${reason} ${proxyHint}`))
    if (state === 'open') context.lost(reason)
    close()
  }

  function close(): void {
    state = 'ended'
    clearInterval(watchdog)
    quietly(() => client.close())
    closeSocket()
  }

  function watch(): void {
    let answered = true
    watchdog = setInterval(() => {
      if (!answered) return end('Mattermost does not answer any more.')
      answered = false
      client.ping(() => (answered = true))
    }, pingMs)
  }

  const timer = setTimeout(() => end('Mattermost did not answer in time.'), helloMs)
  const abort = () => end('The gateway stops.')
  context.signal.addEventListener('abort', abort, { once: true })
  quietly(() => client.initialize(url, botToken))
  await hello.promise.finally(() => {
    clearTimeout(timer)
    context.signal.removeEventListener('abort', abort)
  })
  state = 'open'
  watch()
  return { close, showTyping: (channelId: string) => client.userTyping(channelId, '') }
}

/** The library's `close` does not end a socket that is still connecting, so `closeSocket` has to. */
function createClient(library: typeof Library, log: ChannelContext['log']) {
  let socket: WebSocket | undefined
  const client = new library.WebSocketClient({
    newWebSocketFn: (url) => (socket = createSocket(url, log)),
    minWebSocketRetryTime: never,
    maxWebSocketRetryTime: never,
    reconnectJitterRange: 0,
    clientPingInterval: never,
  })
  return { client, closeSocket: () => socket?.close() }
}

/** An event contains the post as a string of JSON. */
function readPost(data: unknown): Post | undefined {
  try {
    const post: unknown = JSON.parse((data as { post: string }).post)
    return isPost(post) ? post : undefined
  } catch {
    return undefined
  }
}

/** The library throws at messages that it does not understand, which would end the process. */
function createSocket(url: string, log: ChannelContext['log']): WebSocket {
  const socket = new WebSocket(url)
  const handlers: Partial<Record<string, (event: Event) => void>> = {}
  for (const type of ['open', 'message', 'error', 'close'])
    socket.addEventListener(type, (event) =>
      quietly(() => {
        try {
          handlers[`on${type}`]?.(event)
        } catch {
          log.debug({}, 'a message of Mattermost was ignored: it has an unknown shape')
        }
      }),
    )
  return new Proxy(socket, {
    get: (_socket, name) => {
      const value: unknown = Reflect.get(socket, name)
      return typeof value === 'function' ? (value.bind(socket) as unknown) : value
    },
    set: (_socket, name, handler) => {
      handlers[String(name)] = handler as (event: Event) => void
      return true
    },
  })
}

/** The library prints received messages, among other things. It does so only while it is called. */
function quietly(call: () => void): void {
  const { log, warn } = console
  Object.assign(console, { log: ignore, warn: ignore })
  try {
    call()
  } finally {
    Object.assign(console, { log, warn })
  }
}

const ignore = () => undefined
