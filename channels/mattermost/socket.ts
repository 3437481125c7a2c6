// The WebSocket: hands over each new post, and reports the connection as lost when it breaks or misses something.
import { fieldsOf, fieldsOfJson, withDeadline } from 'svc-gateway/kit'
import type { ChannelContext } from 'svc-gateway/plugin'
import { isPost, type Post } from './post.ts'

interface SocketDeps {
  url: string
  botToken: string
  context: Pick<ChannelContext, 'lost' | 'log' | 'signal'>
  onPost(post: Post): void
}

/** Time limit for the server's first event. */
const helloMs = 20_000
/** The REST API has answered before. */
const proxyHint = 'If a proxy is in front of it, it must pass on WebSockets to /api/v4/websocket.'
/** A server that does not answer a ping within this time is gone. */
const pingMs = 30_000
/** Largest message. A post has at most 64 KiB of text. */
const maxPayload = 16 * 1024 * 1024

export async function openSocket({ url, botToken, context, onPost }: SocketDeps) {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(url, { maxPayload, perMessageDeflate: false })
  const hello = Promise.withResolvers<void>()
  let state: 'opening' | 'open' | 'ended' = 'opening'
  let requests = 0
  let events = 0
  let isAnswered = true
  let cause: Error | undefined
  const pings = setInterval(ping, pingMs)

  function request(action: string, data: object): void {
    socket.send(JSON.stringify({ action, seq: ++requests, data }))
  }

  function accept({ event, seq, data }: Readonly<Record<string, unknown>>): void {
    // Answers to requests have no event.
    if (typeof event !== 'string') return
    // The first event of a connection is `hello`, with the number 0.
    if (seq !== events++) return end('An event of Mattermost was lost.')
    if (event === 'hello') hello.resolve()
    if (event !== 'posted') return
    const post = fieldsOfJson(String(fieldsOf(data)['post']))
    if (isPost(post)) onPost(post)
    else context.log.debug({}, 'an event of Mattermost was ignored: it has an unknown shape')
  }

  function ping(): void {
    if (state === 'opening') return
    if (!isAnswered) return end('Mattermost does not answer any more.')
    isAnswered = false
    socket.ping()
  }

  function end(reason: string): void {
    hello.reject(new Error(`${reason} ${proxyHint}`, { cause }))
    if (state === 'open') context.lost(reason)
    close()
  }

  function close(): void {
    state = 'ended'
    clearInterval(pings)
    socket.terminate()
  }

  socket.on('open', () => request('authentication_challenge', { token: botToken }))
  socket.on('message', (message: Buffer) => state !== 'ended' && accept(fieldsOfJson(String(message))))
  socket.on('pong', () => (isAnswered = true))
  // `close` follows.
  socket.on('error', (error) => (cause = error))
  socket.on('close', () => state !== 'ended' && end('Mattermost closed the connection.'))

  const limit = {
    ms: helloMs,
    signals: [context.signal],
    reason: () => new Error(`Mattermost did not answer in time. ${proxyHint}`),
  }
  try {
    await withDeadline(limit, () => hello.promise)
  } catch (error) {
    close()
    throw error
  }
  state = 'open'
  return { close, showTyping: (channelId: string) => request('user_typing', { channel_id: channelId, parent_id: '' }) }
}
