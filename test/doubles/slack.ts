// Slack on loopback: the Web API, Socket Mode with redelivery of what was not confirmed, and its file storage.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { SaidFile } from '../contracts.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn, picturesIn } from './fetches.ts'

const botToken = 'xoxb-canary-bot-token'
const appToken = 'xapp-canary-app-token'

/** The ids of the bot, of a person, of a channel and of their direct messages. */
export const ids = { bot: 'U0BOT', ann: 'U0ANN', room: 'C0ROOM', group: 'C0GROUP', direct: 'D0U0ANN' }

/** What happens to the next call of a method. */
type Fault =
  /** Done, but the connection closes before the answer. */
  | 'lose'
  /** Not done, and the connection closes. */
  | 'drop'
  | { status: number; headers?: Record<string, string>; body?: string }
  /** Done, and answered with this status nevertheless. */
  | { statusAfter: number }
  /** Refused with this code. */
  | { error: string }

interface Post {
  type?: 'message'
  channel: string
  channel_type?: string
  user?: string
  bot_id?: string
  ts: string
  text: string
  thread_ts?: string
  metadata?: unknown
  files?: StoredFile[]
  username?: string
  attachments?: readonly unknown[]
  buttons?: Button[]
  /** Whether Slack may show previews of its links. */
  hasPreviews?: boolean
}

const makesPreviews = (params: Params): boolean =>
  params['unfurl_links'] !== 'false' || params['unfurl_media'] !== 'false'

interface Button {
  type: string
  action_id: string
  text: { type: string; text: string }
  value: string
}

interface StoredFile {
  id: string
  name: string
  data: Buffer
  shared: boolean
}

type Params = Record<string, string>
type Reply = Record<string, unknown>
type Method = (params: Params) => Reply

export type Slack = Awaited<ReturnType<typeof startSlack>>

export async function startSlack() {
  const changes = new EventTarget()
  const changed = () => void changes.dispatchEvent(new Event('change'))
  const until = async (done: () => boolean) => {
    while (!done()) await once(changes, 'change')
  }
  const calls: { method: string; params: Params }[] = []
  const unexpected: string[] = []
  const posts: Post[] = []
  /** Every message, those of people as well. */
  const history: Post[] = []
  const files: StoredFile[] = []
  /** What `files.info` says of files that people have shared. */
  const described = new Map<string, object>()
  /** The messages that were posted with buttons. */
  const asked: { post: Post; buttons: Button[] }[] = []
  /** Those of the tokens. Undefined: all. */
  let scopes: readonly string[] | undefined
  const faults = new Map<string, Fault[]>()
  const redirects = createRedirects()
  const served = new Map<string, { type: string; body: FileContent }>()
  let clock = 0

  /** Unique, growing and close to the present time, as Slack's own. */
  const nextTs = () => `${Math.floor(Date.now() / 1000)}.${String(++clock).padStart(6, '0')}`
  const socketMode = createSocketMode({ changed, address: () => `ws://127.0.0.1:${port()}/link` })
  const profile = { display_name: 'Ann Lee' }
  const methods = createMethods({
    profile,
    posts,
    history,
    files,
    described,
    asked,
    nextTs,
    base: () => base(),
    openSocket: socketMode.open,
  })

  const server = createServer((request, response) => void serve(request, response))
  server.on('upgrade', socketMode.upgrade)

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const path = request.url ?? ''
    if (path.startsWith('/files/')) return serveFile(request, response)
    if (path.startsWith('/upload/')) return storeFile(path, body, response)
    const method = path.replace('/api/', '')
    const params = Object.fromEntries(new URLSearchParams(body.toString()))
    calls.push({ method, params })
    const run = methods[method]
    if (!run || request.method !== 'POST') unexpected.push(`${request.method} ${path}`)
    const fault = faults.get(method)?.shift()
    const isDone = fault === 'lose' || (typeof fault === 'object' && 'statusAfter' in fault)
    if (fault && !isDone) return fail(fault, response)
    const token = request.headers.authorization?.replace('Bearer ', '')
    const isAllowed = token === (method === 'apps.connections.open' ? appToken : botToken)
    const needed = neededScopes[method]
    const lacks = needed !== undefined && !(scopes ?? [needed]).includes(needed)
    const missing = lacks ? { ...refuse('missing_scope'), needed, provided: scopes?.join() } : undefined
    const reply = !isAllowed ? refuse('invalid_auth') : (missing ?? run?.(params) ?? refuse('unknown_method'))
    // Each answer of the Web API names the scopes of the token (docs.slack.dev/reference/scopes).
    if (scopes && method !== 'apps.connections.open') response.setHeader('x-oauth-scopes', scopes.join(','))
    changed()
    if (fault) fail(fault, response)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }

  function fail(fault: Fault, response: ServerResponse): void {
    if (typeof fault === 'string') response.socket?.destroy()
    else if ('statusAfter' in fault) response.writeHead(fault.statusAfter).end()
    else if ('error' in fault) response.end(JSON.stringify(refuse(fault.error)))
    else response.writeHead(fault.status, fault.headers).end(fault.body ?? '')
  }

  /**
   * As at Slack, whoever may not read a file gets the page to sign in, also after a redirect between Slack's hosts
   * (github.com/openclaw/openclaw issue 63523 and pull request 14847; a PDF: github.com/curie-eng/curie pull request
   * 2718).
   */
  function serveFile(request: IncomingMessage, response: ServerResponse): void {
    const file = served.get(request.url?.slice('/files/'.length) ?? '')
    const isAllowed = request.headers.authorization === `Bearer ${botToken}`
    if (!file || !isAllowed) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
    else if (!redirects.answer(request.url, response))
      sendContent(response.writeHead(200, { 'content-type': file.type }), file.body)
  }

  function storeFile(path: string, body: Buffer, response: ServerResponse): void {
    const fault = faults.get('upload')?.shift()
    if (fault && fault !== 'lose') return fail(fault, response)
    const file = files.find(({ id }) => path === `/upload/${id}`)
    if (!file) unexpected.push(path)
    else file.data = body
    response.end('OK')
  }

  /** Somebody writes a message: Slack reports it as an event. */
  function say(text: string, event: Reply = {}): Promise<void> {
    const ts = nextTs()
    const common = { type: 'message', channel: ids.direct, channel_type: 'im', user: ids.ann, client_msg_id: ts }
    const message = { ...common, text, ts, event_ts: ts, ...event }
    history.push(message as unknown as Post)
    return socketMode.deliver(message)
  }

  /** Somebody presses the button below the message that was posted last with buttons. */
  async function press(label: string, { user = ids.ann, more = {} }: { user?: string; more?: object } = {}) {
    const found = asked.findLast(({ buttons }) => buttons.some(({ text }) => text.text === label))
    const button = found?.buttons.find(({ text }) => text.text === label)
    if (!found || !button) throw new Error(`There is no button that says "${label}".`)
    const { channel, ts, thread_ts } = found.post
    const thread = thread_ts === undefined ? {} : { thread_ts }
    socketMode.interact({
      type: 'block_actions',
      user: { id: user, username: 'ann', team_id: 'T0TEAM' },
      container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false, ...thread },
      channel: { id: channel, name: 'room' },
      message: { type: 'message', user: ids.bot, ts, ...thread },
      actions: [{ ...button, block_id: 'b1', action_ts: nextTs() }],
      response_url: `${base()}/response`,
      ...more,
    })
  }

  /** Puts a file into the storage. Returns its address. */
  function keepFile(name: string, file: { type: string; body: FileContent }): string {
    served.set(name, file)
    return `${base()}/files/${name}`
  }

  const describeFile = ({ name, type, size, content }: SaidFile) => ({
    name,
    mimetype: type,
    size,
    url_private_download: keepFile(name, { type, body: content }),
  })

  const port = () => (server.address() as AddressInfo).port
  const base = () => `http://127.0.0.1:${port()}`
  const faultNext = (method: string, fault: Fault) => {
    faults.set(method, [...(faults.get(method) ?? []), fault])
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const config = { botToken, appToken, apiRoot: `${base()}/api/` }
  return {
    config,
    badConfig: { ...config, botToken: 'xoxb-wrong' },
    to: ids.room,
    /** The tokens have only these scopes. */
    grant: (some: readonly string[]) => void (scopes = some),
    /** Every accepted message, as Slack keeps it. */
    posts,
    history,
    files,
    calls,
    faultNext,
    say,
    press,
    messages: async () =>
      posts.map(({ channel, text, thread_ts: threadId, files: [file] = [], buttons, hasPreviews }) => ({
        to: channel,
        text,
        threadId,
        fetches: hasPreviews ? linksIn(text) : picturesIn(text),
        file: file && { name: file.name, content: file.data },
        choices: buttons?.map((button) => button.text.text),
      })),
    rename: async (name: string) => void (profile.display_name = name),
    sayInThread: (text: string) => say(text, places.thread),
    /** Slack reports an edit as an event with its own time, around the message before and after. */
    edit: (text: string) => {
      const before = history.at(-1)!
      const { channel, channel_type } = before
      const after = { ...before, text, edited: { user: ids.ann, ts: nextTs() } }
      const common = { type: 'message', subtype: 'message_changed', hidden: true, channel, channel_type }
      const ts = nextTs()
      history[history.length - 1] = after
      return socketMode.deliver({ ...common, ts, event_ts: ts, message: after, previous_message: before })
    },
    sayInGroup: (text: string, { mentioned, inThread }: { mentioned: boolean; inThread?: boolean }) =>
      say(mentioned ? `<@${ids.bot}> ${text}` : text, places[inThread ? 'thread' : 'group']),
    /** Whoever answers writes into the thread of a message: Slack has no other answers. */
    answer(text: string, original: 'own' | 'other'): Promise<void> {
      const { channel, ts, thread_ts = ts } = (original === 'own' ? posts : history).at(-1)!
      const thread = { channel, channel_type: channel === ids.direct ? 'im' : 'channel', thread_ts }
      return original === 'own'
        ? say(text, { ...thread, parent_user_id: ids.bot })
        : say(`<@${ids.bot}> ${text}`, { ...thread, parent_user_id: ids.ann })
    },
    forward: (text: string) => say('', { attachments: [shareOf(text)] }),
    /** The bot's own message comes back as an event. */
    echo: (text: string) => say(text, { user: ids.bot, bot_id: 'B0BOT' }),
    /** Delivers an event as it is. */
    deliver: socketMode.deliver,
    /** Sends any text over the open connections. */
    sendRaw: socketMode.sendRaw,
    /** Delivers everything again that was not confirmed. */
    redeliver: socketMode.redeliver,
    /** Gives up to deliver what was not confirmed. */
    forget: () => void socketMode.waiting.splice(0),
    /** Cuts the connections, as soon as there is one. */
    async disconnect() {
      await until(() => socketMode.connections().open > 0)
      socketMode.disconnect()
    },
    connections: socketMode.connections,
    confirmed: socketMode.confirmed,
    waiting: socketMode.waiting,
    freezeClosing: socketMode.freezeClosing,
    greetNext: socketMode.greetNext,
    until,
    loseNextAnswer: () => faultNext('chat.postMessage', 'lose'),
    answerNext: (status: number) =>
      faultNext('chat.postMessage', status === 500 ? { statusAfter: status } : { status }),
    limitNext: (retryAfterMs: number) =>
      faultNext('chat.postMessage', {
        status: 429,
        // Slack gives whole seconds.
        headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
        body: JSON.stringify(refuse('ratelimited')),
      }),
    keepFile,
    /**
     * Somebody of another organization shares a file: an event of Slack Connect holds only its id
     * (docs.slack.dev/apis/slack-connect, "Files"; zenn.dev/straydog/articles/42c4152bf963e3 shows the event).
     */
    sayWithConnectFile(text: string, file: SaidFile | undefined): Promise<void> {
      const id = `F0CONNECT${described.size}`
      if (file) described.set(id, { id, ...describeFile(file) })
      const stub = { id, mode: 'file_access', file_access: 'check_file_info', created: 0, timestamp: 0, user: '' }
      return say(text, { subtype: 'file_share', files: [stub] })
    },
    redirectNextDownload: redirects.redirectNextDownload,
    sayWithFile: (text: string, file: SaidFile, place?: keyof typeof places) =>
      say(text, { subtype: 'file_share', files: [describeFile(file)], ...(place && places[place]) }),
    sayWithFiles: (text: string, all: readonly SaidFile[]) =>
      say(text, { subtype: 'file_share', files: all.map(describeFile) }),
    async close() {
      socketMode.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length) throw new Error(`the double got calls that it does not know: ${unexpected.join(', ')}`)
    },
  }
}

/**
 * What Slack adds to a message when somebody passes another one on, as its own workspaces have logged it:
 * MercuryTechnologies/slacklinker, `test/Slacklinker/Handler/TestData.hs` (`forwardedMessageEvent`);
 * slackapi/slack-skills-plugin#149 (`is_share`, and an empty text). The types are in `@slack/web-api`,
 * `types/response/ConversationsHistoryResponse.d.ts` (`Attachment`).
 */
export const shareOf = (text: string, more: Reply = {}): Reply => ({
  fallback: `[September 6th, 2024 11:15 AM] eve: ${text}`,
  color: 'D0D0D0',
  author_id: 'U0EVE',
  author_name: 'Eve',
  author_link: 'https://workspace.slack.com/team/U0EVE',
  channel_id: 'C0OTHER',
  channel_team: 'T0TEAM',
  ts: '1725646540.483529',
  from_url: 'https://workspace.slack.com/archives/C0OTHER/p1725646540483529',
  footer: 'Slack Conversation',
  is_msg_unfurl: true,
  is_share: true,
  id: 1,
  mrkdwn_in: ['text'],
  text,
  ...more,
})

/** Where somebody writes, unless it is to the bot alone. */
const places = {
  group: { channel: ids.room, channel_type: 'channel' },
  thread: { channel: ids.room, channel_type: 'channel', thread_ts: '1700000000.000001' },
}

/** The scope without which Slack refuses a method (docs.slack.dev/reference/methods). */
const neededScopes: Readonly<Record<string, string>> = {
  'apps.connections.open': 'connections:write',
  'chat.postMessage': 'chat:write',
  'chat.update': 'chat:write',
  'conversations.history': 'channels:history',
  'conversations.info': 'channels:read',
  'conversations.open': 'im:write',
  'conversations.replies': 'channels:history',
  'files.completeUploadExternal': 'files:write',
  'files.getUploadURLExternal': 'files:write',
  'files.info': 'files:read',
  'users.conversations': 'channels:read',
  'users.info': 'users:read',
}

const refuse = (error: string): Reply => ({ ok: false, error })

interface MethodDeps {
  /** Of a person. */
  profile: { display_name: string }
  posts: Post[]
  history: Post[]
  files: StoredFile[]
  described: ReadonlyMap<string, object>
  asked: { post: Post; buttons: Button[] }[]
  nextTs: () => string
  base: () => string
  openSocket: () => string
}

function createMethods({
  profile,
  posts,
  history,
  files,
  described,
  asked,
  nextTs,
  base,
  openSocket,
}: MethodDeps): Partial<Record<string, Method>> {
  const post = (message: Omit<Post, 'ts'>): Post => {
    const stored: Post = { type: 'message', user: ids.bot, bot_id: 'B0BOT', ...message, ts: nextTs() }
    posts.push(stored)
    history.push(stored)
    return stored
  }

  function postMessage(params: Params): Reply {
    const { channel = '', markdown_text: markdown, text, blocks, thread_ts, metadata } = params
    if (!/^[CDG]0/.test(channel)) return refuse('channel_not_found')
    if (markdown !== undefined && blocks !== undefined) return refuse('markdown_text_conflict')
    const content = blocks === undefined ? undefined : readBlocks(blocks)
    if (content && 'fault' in content) return refuse(content.fault)
    if (markdown !== undefined && text !== undefined) return refuse('markdown_text_conflict')
    if (!(markdown ?? text)) return refuse('no_text')
    if (markdown !== undefined && markdown.length > 12_000) return refuse('msg_too_long')
    const kept = metadata === undefined ? {} : { metadata: JSON.parse(metadata) as unknown }
    const thread = thread_ts === undefined ? {} : { thread_ts }
    const stored = post({
      channel,
      text: (markdown ?? text)!,
      hasPreviews: makesPreviews(params),
      ...content,
      ...thread,
      ...kept,
    })
    if (content?.buttons) asked.push({ post: stored, buttons: content.buttons })
    const { ts } = stored
    return { ok: true, channel, ts, message: { type: 'message', ts, user: ids.bot, bot_id: 'B0BOT' } }
  }

  function updateMessage(params: Params): Reply {
    const { channel, ts, blocks = '[]' } = params
    const message = posts.find((one) => one.channel === channel && one.ts === ts)
    const content = readBlocks(blocks)
    if (!message) return refuse('message_not_found')
    if ('fault' in content) return refuse(content.fault)
    message.text = content.text
    message.hasPreviews ||= makesPreviews(params)
    if (content.buttons) message.buttons = content.buttons
    else delete message.buttons
    return { ok: true, channel, ts }
  }

  /** Newest first, in pages. The cursor is the number of messages that were already given. */
  function page(
    found: Post[],
    { limit = '100', cursor = '0', oldest = '0', include_all_metadata: all }: Params,
  ): Reply {
    const recent = found.filter(({ ts }) => Number(ts) >= Number(oldest)).toReversed()
    const [from, size] = [Number(cursor), Number(limit)]
    const messages = recent.slice(from, from + size).map((message) => describe(message, all !== undefined))
    const next = from + size < recent.length ? String(from + size) : ''
    return { ok: true, messages, has_more: next !== '', response_metadata: { next_cursor: next } }
  }

  /**
   * A thread, oldest first, with its first message in front whatever `oldest` says:
   * https://docs.slack.dev/reference/methods/conversations.replies
   */
  function thread(params: Params): Reply {
    const { channel, ts, oldest = '0' } = params
    const ofThread = history.filter(
      (message) => message.channel === channel && (message.thread_ts ?? message.ts) === ts,
    )
    if (ofThread.length === 0) return refuse('thread_not_found')
    const recent = ofThread.filter((message) => message.ts === ts || Number(message.ts) >= Number(oldest))
    return page(recent.toReversed(), { ...params, oldest: '0' })
  }

  /** What the history says of a message: not where it is from, but whether it has begun a thread. */
  function describe({ channel: _channel, metadata, ...message }: Post, withMetadata: boolean): Reply {
    const latest = history.findLast(({ thread_ts: thread, ts }) => thread === message.ts && ts !== message.ts)
    const thread = latest && { thread_ts: message.ts, latest_reply: latest.ts }
    return { ...message, channel_type: undefined, ...thread, ...(withMetadata && { metadata }) }
  }

  const inChannel = ({ channel }: Params) => history.filter((message) => message.channel === channel)

  function completeUpload({ files: list = '[]', channel_id: channel = '', thread_ts, initial_comment }: Params): Reply {
    const shared = (JSON.parse(list) as { id: string }[]).map(({ id }) => files.find((file) => file.id === id))
    if (shared.some((file) => !file)) return refuse('file_not_found')
    for (const file of shared as StoredFile[]) file.shared = true
    post({
      channel,
      text: initial_comment ?? '',
      // There is no way to switch them off.
      hasPreviews: true,
      files: shared as StoredFile[],
      ...(thread_ts !== undefined && { thread_ts }),
    })
    return { ok: true, files: shared.map((file) => ({ id: file?.id })) }
  }

  return {
    'apps.connections.open': () => ({ ok: true, url: openSocket() }),
    'auth.test': () => ({ ok: true, url: base(), team_id: 'T0TEAM', user: 'bot', user_id: ids.bot, bot_id: 'B0BOT' }),
    'chat.postMessage': postMessage,
    'chat.update': updateMessage,
    'conversations.open': ({ users }) => ({ ok: true, channel: { id: `D0${users}` } }),
    'conversations.info': ({ channel }) => ({ ok: true, channel: { id: channel, is_mpim: channel === ids.group } }),
    'conversations.history': (params) =>
      page(
        inChannel(params).filter(({ thread_ts: thread }) => thread === undefined),
        params,
      ),
    'conversations.replies': thread,
    'users.conversations': ({ cursor = '0' }) => {
      const all = [
        { id: ids.direct, is_im: true },
        { id: ids.group, is_mpim: true },
        { id: ids.room, is_channel: true },
      ]
      const next = Number(cursor) + 2 < all.length ? String(Number(cursor) + 2) : ''
      const channels = all.slice(Number(cursor), Number(cursor) + 2)
      return { ok: true, channels, response_metadata: { next_cursor: next } }
    },
    'users.info': ({ user }) => ({ ok: true, user: { id: user, name: 'ann', profile } }),
    'files.getUploadURLExternal': ({ filename = '' }) => {
      const id = `F0FILE${files.length}`
      files.push({ id, name: filename, data: Buffer.alloc(0), shared: false })
      return { ok: true, upload_url: `${base()}/upload/${id}`, file_id: id }
    },
    'files.completeUploadExternal': completeUpload,
    'files.info': ({ file = '' }) => {
      const known = described.get(file)
      if (known) return { ok: true, file: known }
      const found = files.find(({ id }) => id === file)
      return found
        ? { ok: true, file: { id: file, channels: found.shared ? [ids.room] : [] } }
        : refuse('file_not_found')
    },
  }
}

/** A block of Markdown, and maybe a row of buttons, which Slack limits. */
function readBlocks(json: string): { text: string; buttons?: Button[] } | { fault: string } {
  const [{ type, text = '' } = { type: '' }, actions, ...others] = JSON.parse(json) as {
    type: string
    text?: string
    elements?: Button[]
  }[]
  if (type !== 'markdown' || others.length > 0) return { fault: 'invalid_blocks' }
  if (text.length > 12_000) return { fault: 'msg_blocks_too_long' }
  if (!actions) return { text }
  const { elements: buttons = [] } = actions
  const isValid = (button: Button) =>
    button.type === 'button' &&
    button.text.type === 'plain_text' &&
    button.text.text.length <= 75 &&
    button.value.length <= 2000
  const names = new Set(buttons.map(({ action_id }) => action_id))
  const fits = buttons.length > 0 && buttons.length <= 25 && names.size === buttons.length
  return actions.type === 'actions' && fits && buttons.every(isValid) ? { text, buttons } : { fault: 'invalid_blocks' }
}

interface Envelope {
  envelope_id: string
  event: Reply
  attempts: number
}

function createSocketMode({ changed, address }: { changed: () => void; address: () => string }) {
  const server = new WebSocketServer({ noServer: true })
  const sockets: WebSocket[] = []
  const tickets = new Set<string>()
  const waiting: Envelope[] = []
  const confirmed: string[] = []
  /** What the next connections get before `hello`, and whether they get that. */
  const greetings: { first: object; hello: boolean }[] = []
  let count = 0
  let opened = 0

  const isOpen = (socket: WebSocket) => socket.readyState === socket.OPEN

  /** Events go to one connection, the newest. */
  function transmit(envelope: Envelope): void {
    const socket = sockets.findLast(isOpen)
    if (!socket) return
    const retry = envelope.attempts > 0 ? { retry_attempt: envelope.attempts, retry_reason: 'timeout' } : {}
    envelope.attempts += 1
    const payload = { type: 'event_callback', team_id: 'T0TEAM', event_id: `Ev${envelope.envelope_id}` }
    socket.send(
      JSON.stringify({
        type: 'events_api',
        envelope_id: envelope.envelope_id,
        accepts_response_payload: false,
        ...retry,
        payload: { ...payload, event: envelope.event },
      }),
    )
  }

  function accept(socket: WebSocket): void {
    sockets.push(socket)
    socket.on('message', (data: Buffer) => confirm(JSON.parse(data.toString()) as { envelope_id: string }))
    socket.on('close', changed)
    const greeting = greetings.shift()
    if (greeting) socket.send(JSON.stringify(greeting.first))
    if (greeting?.hello === false) return changed()
    socket.send(JSON.stringify({ type: 'hello', num_connections: sockets.filter(isOpen).length }))
    for (const envelope of waiting) transmit(envelope)
    changed()
  }

  function confirm({ envelope_id: id }: { envelope_id: string }): void {
    const index = waiting.findIndex((envelope) => envelope.envelope_id === id)
    if (index >= 0) waiting.splice(index, 1)
    confirmed.push(id)
    changed()
  }

  return {
    open(): string {
      const ticket = `ticket-${++opened}`
      tickets.add(ticket)
      return `${address()}?ticket=${ticket}`
    },
    upgrade(request: IncomingMessage, socket: import('node:stream').Duplex, head: Buffer): void {
      const ticket = new URL(request.url ?? '', 'ws://slack').searchParams.get('ticket') ?? ''
      if (tickets.delete(ticket)) server.handleUpgrade(request, socket, head, accept)
      else socket.destroy()
    },
    /** Resolves when the event has been sent, or is kept for the next connection. */
    async deliver(event: Reply): Promise<void> {
      const envelope = { envelope_id: `e${++count}`, event, attempts: 0 }
      waiting.push(envelope)
      transmit(envelope)
    },
    /** Sends an interaction, once: Slack does not repeat it. */
    interact(payload: Reply): void {
      const envelope = { type: 'interactive', envelope_id: `i${++count}`, accepts_response_payload: true, payload }
      sockets.findLast(isOpen)?.send(JSON.stringify(envelope))
    },
    redeliver: () => waiting.forEach(transmit),
    sendRaw: (text: string) => sockets.filter(isOpen).forEach((socket) => socket.send(text)),
    disconnect: () => sockets.forEach((socket) => socket.terminate()),
    /** The open connections, and how many there were. */
    connections: () => ({ open: sockets.filter(isOpen).length, all: sockets.length }),
    /** The envelopes that were confirmed, and those that were not. */
    confirmed,
    waiting,
    /** From now on, the double leaves its side of a connection open, as Slack does. */
    /** The next connection gets this before `hello`, or instead of it. */
    greetNext: (first: object, { hello }: { hello: boolean }) => void greetings.push({ first, hello }),
    freezeClosing(): void {
      for (const socket of sockets) (socket as unknown as { _socket: { end(): void } })._socket.end = () => undefined
    },
    close(): void {
      for (const socket of sockets) socket.terminate()
      server.close()
    },
  }
}
