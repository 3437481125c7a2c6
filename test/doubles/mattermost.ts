// A Mattermost server on loopback: the REST API that a bot needs, and the WebSocket with its sequence of events.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { SaidFile } from '../contracts.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn, picturesIn } from './fetches.ts'

const token = 'canary-mattermost-token'

/** Ids have 26 letters and digits. */
const idOf = (name: string) => name.padEnd(26, '0')

/** The bot, two persons, another bot, and the channels. */
export const ids = {
  bot: idOf('bot'),
  ann: idOf('ann'),
  bob: idOf('bob'),
  robot: idOf('robot'),
  room: idOf('room'),
  group: idOf('group'),
  direct: idOf('direct'),
}

export interface StoredPost {
  id: string
  channel_id: string
  user_id: string
  create_at: number
  update_at: number
  delete_at: number
  message: string
  root_id: string
  type: string
  props: Record<string, unknown>
  file_ids: string[]
  metadata?: { files?: FileInfo[]; embeds?: unknown[] }
}

interface FileInfo {
  id: string
  name: string
  mime_type: string
  size: number
}

/** What happens to the next call of a route, such as `POST posts`. */
type Fault =
  /** Done, but the connection closes before the answer. */
  | 'lose'
  /** Not done, and the connection closes. */
  | 'drop'
  | { status: number; headers?: Record<string, string>; body?: string }
  /** Done, and answered with this status nevertheless. */
  | { statusAfter: number }

interface Call {
  path: string[]
  query: URLSearchParams
  body: Buffer
  type: string
}

type Answer = { status: number; body: unknown; bytes?: FileContent }
type Route = (call: Call) => Answer | Promise<Answer>

const createUsers = () => ({
  bot: { id: ids.bot, username: 'agent.smith', is_bot: true },
  ann: { id: ids.ann, username: 'ann', nickname: '', first_name: 'Ann', last_name: 'Lee' },
  bob: { id: ids.bob, username: 'bob' },
  robot: { id: ids.robot, username: 'robot', is_bot: true },
})
const channelTypes: Record<string, string> = { [ids.room]: 'O', [ids.group]: 'G', [ids.direct]: 'D' }

export async function startMattermost() {
  const changes = new EventTarget()
  const changed = () => void changes.dispatchEvent(new Event('change'))
  const until = async (done: () => boolean) => {
    while (!done()) await once(changes, 'change')
  }
  const calls: string[] = []
  const unexpected: string[] = []
  const faults = new Map<string, Fault[]>()
  const store = createStore()
  const redirects = createRedirects()
  const routes = createRoutes(store)
  const socket = createSocketServer(changed)

  const server = createServer((request, response) => void serve(request, response))
  server.on('upgrade', socket.upgrade)

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://mattermost')
    const path = url.pathname.replace('/chat/api/v4/', '').split('/')
    const name = routeOf(request.method ?? '', path)
    const body = Buffer.concat(await request.toArray())
    calls.push(name)
    const fault = faults.get(name)?.shift()
    const isDone = fault === 'lose' || (typeof fault === 'object' && 'statusAfter' in fault)
    if (fault && !isDone) return fail(fault, response)
    const answer =
      request.headers.authorization === `Bearer ${token}`
        ? await routes[name]?.({ path, query: url.searchParams, body, type: request.headers['content-type'] ?? '' })
        : refuse(401, 'api.context.session_expired.app_error')
    if (!answer) unexpected.push(`${request.method} ${request.url}`)
    changed()
    if (fault) fail(fault, response)
    else if (answer?.bytes && redirects.answer(request.url, response)) return
    else write(response, answer ?? refuse(404, 'api.context.404.app_error'))
  }

  function fail(fault: Fault, response: ServerResponse): void {
    if (typeof fault === 'string') response.socket?.destroy()
    else if ('statusAfter' in fault) write(response, refuse(fault.statusAfter, 'api.context.internal.app_error'))
    else response.writeHead(fault.status, { 'content-type': 'text/plain', ...fault.headers }).end(fault.body ?? '')
  }

  /** Somebody writes: the post is stored, and reported to every connection. */
  async function say(message: string, post: Partial<StoredPost> = {}): Promise<void> {
    const stored = store.add({ channel_id: ids.direct, user_id: ids.ann, message, ...post })
    socket.report(stored)
  }

  /** A thread begins with a message of the bot. */
  function placeOf(place: 'group' | 'thread' | undefined): Partial<StoredPost> {
    if (place === 'group') return { channel_id: ids.room }
    if (place === undefined) return {}
    const { id } = store.add({ channel_id: ids.room, user_id: ids.bot, message: 'How is it going?' })
    return { channel_id: ids.room, root_id: id }
  }

  /**
   * Somebody passes on a post: the app writes one with its link after what the person says,
   * and the server embeds the post for those who may read it: `getEmbedForPost` in `channels/app/post_metadata.go`,
   * `permalinkBroadcastHook` in `channels/app/web_broadcast_hooks.go`, `PreviewPost` in `public/model/permalink.go`.
   */
  function share(text: string, post: Partial<StoredPost> & { message: string }): Promise<void> {
    const past = { create_at: 1, update_at: 1 }
    const shared = store.add({ channel_id: ids.room, user_id: ids.ann, ...past, ...post })
    const data = {
      post_id: shared.id,
      post: shared,
      team_name: 'team',
      channel_display_name: 'Room',
      channel_type: 'O',
      channel_id: shared.channel_id,
    }
    const link = `${baseUrl}/team/pl/${shared.id}`
    return say(text === '' ? link : `${text}\n${link}`, {
      props: { previewed_post: shared.id },
      metadata: { embeds: [{ type: 'permalink', url: '', data }] },
    })
  }

  function sayWithFiles(text: string, all: readonly SaidFile[], place?: 'group' | 'thread'): Promise<void> {
    const files = all.map(({ name, type, size, content }) => store.keepFile({ name, type, data: content, size }))
    return say(text, { ...placeOf(place), file_ids: files.map(({ id }) => id), metadata: { files } })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`
  const config = { botToken: token, baseUrl }
  const faultNext = (route: string, fault: Fault) => void faults.set(route, [...(faults.get(route) ?? []), fault])
  return {
    config,
    badConfig: { ...config, botToken: 'canary-wrong' },
    to: ids.room,
    /** What the bot has sent. */
    sent: store.sent,
    posts: store.posts,
    /** The teams of the bot. */
    teams: store.teams,
    files: store.files,
    pending: store.pending,
    keepFile: store.keepFile,
    calls,
    faultNext,
    say,
    /** Sends any text to every connection. */
    sendRaw: socket.sendRaw,
    /** Reports an event to every connection. */
    event: socket.event,
    /** The next event is lost on its way, and its number with it. */
    skipEvent: socket.skipEvent,
    freeze: socket.freeze,
    pinged: socket.pinged,
    refuseToken: socket.refuseToken,
    refuseUpgrade: socket.refuseUpgrade,
    typing: socket.typing,
    connections: socket.connections,
    until,
    messages: async () =>
      store.sent.map(({ channel_id: to, message: text, root_id, props, file_ids: [fileId = ''] }) => {
        const file = store.files.get(fileId)
        return {
          to,
          text,
          threadId: root_id || undefined,
          fetches: fetchesOf(text, { isUnsafe: props['unsafe_links'] === 'true', baseUrl }),
          file: file && { name: file.name, content: file.data as Uint8Array },
        }
      }),
    rename: async (name: string) => void (store.users.ann.nickname = name),
    sayInThread: (text: string) => say(text, placeOf('thread')),
    async edit(message: string): Promise<void> {
      const post = store.posts.at(-1)!
      Object.assign(post, { message, edit_at: Date.now(), update_at: Math.max(post.update_at + 1, Date.now()) })
      socket.event('post_edited', { post: JSON.stringify(post) })
    },
    sayInGroup: (text: string, { mentioned, inThread }: { mentioned: boolean; inThread?: boolean }) =>
      say(mentioned ? `@agent.smith ${text}` : text, placeOf(inThread ? 'thread' : 'group')),
    redirectNextDownload: redirects.redirectNextDownload,
    sayWithFile: (text: string, file: SaidFile, place?: 'group' | 'thread') => sayWithFiles(text, [file], place),
    sayWithFiles: (text: string, files: readonly SaidFile[]) => sayWithFiles(text, files),
    /** Whoever answers writes into the thread of a post: there are no other answers. */
    answer(text: string, original: 'own' | 'other'): Promise<void> {
      const { channel_id, id, root_id } = (original === 'own' ? store.sent : store.posts).at(-1)!
      return say(original === 'own' ? text : `@agent.smith ${text}`, { channel_id, root_id: root_id || id })
    },
    share,
    forward: (text: string) => share('', { message: text, user_id: ids.bob }),
    echo: (text: string) => say(text, { user_id: ids.bot }),
    /** Cuts the connections, as soon as there is one. */
    async disconnect() {
      await until(() => socket.connections() > 0)
      socket.disconnect()
    },
    loseNextAnswer: () => faultNext('POST posts', 'lose'),
    answerNext: (status: number) => faultNext('POST posts', status === 500 ? { statusAfter: status } : { status }),
    limitNext: (retryAfterMs: number) =>
      faultNext('POST posts', {
        status: 429,
        headers: { 'retry-after': String(retryAfterMs / 1000), 'x-ratelimit-remaining': '0' },
        body: 'limit exceeded\n',
      }),
    async close() {
      socket.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length) throw new Error(`the double got calls that it does not know: ${unexpected.join(', ')}`)
    },
  }
}

/**
 * As `getEmbedsAndImages` of the server (mattermost/mattermost, server/channels/app/post_metadata.go): a post with unsafe
 * links has no previews and no pictures, unless its first link leads to another post.
 */
function fetchesOf(text: string, { isUnsafe, baseUrl }: { isUnsafe: boolean; baseUrl: string }): string[] {
  const [first = ''] = linksIn(text)
  const isPermalink = first.startsWith(baseUrl) && /\/pl\/[a-z0-9]{26}$/.test(first)
  if (!isUnsafe) return [...linksIn(text), ...picturesIn(text)]
  return isPermalink ? picturesIn(text) : []
}

/** A route by its method and path, with `:id` for ids. */
const routeOf = (method: string, path: string[]) =>
  `${method} ${path
    .map((part, index) => (/^[a-z0-9]{26}$/.test(part) || path[index - 1] === 'username' ? ':id' : part))
    .join('/')}`

const refuse = (status: number, id: string): Answer => ({
  status,
  body: { id, message: `canary text of ${id}`, status_code: status },
})

function write(response: ServerResponse, { status, body, bytes }: Answer): void {
  if (bytes) sendContent(response.writeHead(status, { 'content-type': 'application/octet-stream' }), bytes)
  else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

interface KeptFile {
  name: string
  type: string
  data: FileContent
  size?: number
}

function createStore() {
  const posts: StoredPost[] = []
  const sent: StoredPost[] = []
  const files = new Map<string, FileInfo & { data: FileContent }>()
  /** What the server keeps of the last 30 seconds: the post of each `pending_post_id`, or nothing while it works. */
  const pending = new Map<string, StoredPost | undefined>()
  let last = 0

  function add(post: Partial<StoredPost> & Pick<StoredPost, 'channel_id' | 'user_id' | 'message'>): StoredPost {
    last = Math.max(last + 1, Date.now())
    const times = { create_at: last, update_at: last, delete_at: 0 }
    const rest = { root_id: '', type: '', props: {}, file_ids: [], ...times }
    const stored = { id: idOf(`post${posts.length}x`), ...rest, ...post }
    posts.push(stored)
    return stored
  }

  function keepFile({ name, type, data, size = data.length }: KeptFile): FileInfo {
    const info = { id: idOf(`file${files.size}x`), name, mime_type: type, size }
    files.set(info.id, { ...info, data })
    return info
  }

  return { users: createUsers(), teams: [{ id: idOf('team') }], posts, sent, files, pending, add, keepFile }
}

type NewPost = Pick<StoredPost, 'channel_id' | 'message'> &
  Partial<Pick<StoredPost, 'root_id' | 'props' | 'file_ids'>> & { pending_post_id?: string }

function createRoutes(store: ReturnType<typeof createStore>): Partial<Record<string, Route>> {
  const { posts, sent, files, pending, add, keepFile } = store
  const users = Object.values(store.users)
  const ok = (body: unknown, status = 200): Answer => ({ status, body })
  const found = (value: unknown): Answer => (value ? ok(value) : refuse(404, 'store.sql.get.missing.app_error'))
  const ofChannel = (id: string) => posts.filter(({ channel_id: channel }) => channel === id)

  function createPost({ body }: Call): Answer {
    const post = JSON.parse(body.toString()) as NewPost
    const key = post.pending_post_id
    if (!channelTypes[post.channel_id]) return refuse(403, 'api.context.permissions.app_error')
    if ([...post.message].length > 16_383) return refuse(400, 'model.post.is_valid.message_length.app_error')
    if (key !== undefined && pending.has(key)) {
      const known = pending.get(key)
      return known ? ok(known, 201) : refuse(500, 'api.post.deduplicate_create_post.pending')
    }
    const { channel_id, message, root_id = '', props = {}, file_ids = [] } = post
    const stored = add({ channel_id, message, root_id, props, file_ids, user_id: ids.bot })
    sent.push(stored)
    if (key !== undefined) pending.set(key, stored)
    return ok(stored, 201)
  }

  /** Newest first in pages; or everything that was changed since a time, at most 1000. */
  function listPosts({ path, query }: Call): Answer {
    const newest = ofChannel(path[1]!).toReversed()
    const [page, size] = [Number(query.get('page')), Number(query.get('per_page') ?? 60)]
    const since = query.get('since')
    const some =
      since === null
        ? newest.slice(page * size, (page + 1) * size)
        : newest.filter((post) => post.update_at > Number(since)).slice(0, 1000)
    return ok({ order: some.map(({ id }) => id), posts: Object.fromEntries(some.map((post) => [post.id, post])) })
  }

  async function storeFile({ body, type }: Call): Promise<Answer> {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const [file, channel] = [form.get('files') as File, form.get('channel_id') as string]
    if (!channelTypes[channel]) return refuse(403, 'api.context.permissions.app_error')
    const data = Buffer.from(await file.arrayBuffer())
    return ok({ file_infos: [keepFile({ name: file.name, type: file.type, data })] }, 201)
  }

  const channelsOf = () =>
    Object.entries(channelTypes).map(([id, type]) => ({
      id,
      type,
      last_post_at: Math.max(0, ...ofChannel(id).map((post) => post.create_at)),
    }))

  return {
    'GET users/me': () => ok(store.users.bot),
    'GET users/me/teams': () => ok(store.teams),
    'GET users/:id': ({ path }) => found(users.find(({ id }) => id === path[1])),
    'GET users/username/:id': ({ path }) => found(users.find(({ username }) => username === path[2])),
    'GET users/me/channels': () => ok(channelsOf()),
    'GET channels/:id': ({ path }) => found(channelsOf().find(({ id }) => id === path[1])),
    'GET channels/:id/posts': listPosts,
    'POST channels/direct': ({ body }) =>
      (JSON.parse(body.toString()) as string[]).includes(ids.ann)
        ? ok({ id: ids.direct, type: 'D' }, 201)
        : refuse(400, 'api.channel.create_direct_channel.invalid_user.app_error'),
    'POST posts': createPost,
    'GET posts/:id': ({ path }) => found(posts.find(({ id }) => id === path[1])),
    'GET posts/:id/files/info': ({ path }) =>
      ok(posts.find(({ id }) => id === path[1])?.file_ids.map((id) => files.get(id)) ?? []),
    'POST files': storeFile,
    'GET files/:id': ({ path }) => {
      const file = files.get(path[1]!)
      return file ? { status: 200, body: undefined, bytes: file.data } : refuse(404, 'app.file_info.get.app_error')
    },
  }
}

interface Client {
  socket: WebSocket
  seq: number
  isSignedIn: boolean
}

function createSocketServer(changed: () => void) {
  const server = new WebSocketServer({ noServer: true })
  const clients = new Set<Client>()
  const typing: { channel_id: string }[] = []
  let opened = 0
  let isRevoked = false
  let isUpgradeRefused = false

  function transmit(client: Client, event: object): void {
    client.socket.send(JSON.stringify({ ...event, broadcast: { channel_id: '' }, seq: client.seq++ }))
  }

  function accept(socket: WebSocket): void {
    const client: Client = { socket, seq: 0, isSignedIn: false }
    socket.on('message', (data: Buffer) => answer(client, JSON.parse(data.toString()) as ClientMessage))
    socket.on('close', () => {
      clients.delete(client)
      changed()
    })
  }

  function answer(client: Client, { action, seq, data }: ClientMessage): void {
    const reply = (more: object = {}) => client.socket.send(JSON.stringify({ status: 'OK', seq_reply: seq, ...more }))
    if (action === 'authentication_challenge') {
      if (isRevoked || data?.token !== token) return client.socket.terminate()
      client.isSignedIn = true
      clients.add(client)
      transmit(client, { event: 'hello', data: { connection_id: `connection${++opened}`, server_version: '11.9.0' } })
    }
    if (action === 'user_typing') typing.push({ channel_id: data?.channel_id ?? '' })
    reply(action === 'ping' ? { data: { text: 'pong' } } : {})
    changed()
  }

  const event = (name: string, data: unknown) => clients.forEach((client) => transmit(client, { event: name, data }))

  return {
    upgrade: (request: IncomingMessage, socket: import('node:stream').Duplex, head: Buffer) =>
      request.url === '/chat/api/v4/websocket' && !isUpgradeRefused
        ? server.handleUpgrade(request, socket, head, accept)
        : void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'),
    report: (post: StoredPost) =>
      event('posted', {
        channel_type: channelTypes[post.channel_id],
        sender_name: '@ann',
        post: JSON.stringify({ ...post, pending_post_id: '' }),
      }),
    event,
    skipEvent: () => clients.forEach((client) => (client.seq += 1)),
    sendRaw: (text: string) => clients.forEach(({ socket }) => socket.send(text)),
    disconnect: () => clients.forEach(({ socket }) => socket.terminate()),
    /** Keeps the connections open, but reads nothing any more. */
    freeze: () => clients.forEach(({ socket }) => socket.pause()),
    /** Resolves when every connection has got a ping. */
    pinged: () => Promise.all(Array.from(clients, ({ socket }) => once(socket, 'ping'))),
    /** Refuses the token from now on, only for connections. */
    refuseToken: () => (isRevoked = true),
    /** Answers as a proxy that passes on no WebSockets. */
    refuseUpgrade: () => (isUpgradeRefused = true),
    connections: () => clients.size,
    typing,
    close(): void {
      for (const { socket } of clients) socket.terminate()
      server.close()
    },
  }
}

interface ClientMessage {
  action: string
  seq: number
  data?: { token?: string; channel_id?: string }
}
