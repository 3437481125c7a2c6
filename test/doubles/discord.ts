// A double of Discord on loopback: the REST API, the gateway and the file server, with faults that a test chooses.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Platform, SaidFile } from '../contracts.ts'
import { startDiscordGateway } from './discord-gateway.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn } from './fetches.ts'

export const botId = '900000000000000001'
export const annId = '200000000000000001'
export const directId = '100000000000000001'
export const channelId = '100000000000000002'
const guildId = '400000000000000001'
/** The role of the bot, and that of another one. */
export const roleId = '300000000000000001'
export const otherRoleId = '300000000000000002'
export const threadId = '100000000000000003'

/** What happens to the next message that the channel sends. */
type SendFault =
  /** Refused with this status, and a body as Discord has it. */
  | { status: number; code?: number; headers?: Record<string, string>; body?: unknown }
  /** Accepted, and answered with this status nevertheless. */
  | { statusAfter: number }
  /** Accepted, but the connection closes before the response. */
  | 'drop-after'
  /** The connection closes before the message is accepted. */
  | 'drop-before'
  /** Accepted, never answered. */
  | 'hang'

export interface SentMessage {
  to: string
  text: string
  nonce: string
  /** Whether Discord may show previews of links. */
  hasPreviews: boolean
  files: { name: string; type: string; text: string; content: Uint8Array }[]
  id: string
  buttons: Button[]
}

interface Button {
  type: number
  style: number
  label: string
  custom_id: string
}

type Fields = Record<string, unknown>

export interface Discord extends Platform<{ token: string; apiRoot: string }> {
  badConfig: { token: string; apiRoot: string }
  sent: SentMessage[]
  /** What Discord says about the bot. */
  user: Fields
  /** Every request, as `GET /users/@me`. */
  requests: string[]
  /** How often each kind of connection to the gateway was made. */
  gateway: Awaited<ReturnType<typeof startDiscordGateway>>
  say(text: string, fields?: Fields): Promise<void>
  sayInGroup(text: string, options: { mentioned: boolean; inThread?: boolean }): Promise<void>
  echo(text: string): Promise<void>
  press(label: string, fields?: Fields): Promise<void>
  /** The interactions that were confirmed, with the type of the answer. */
  confirmed: { id: string; type: number }[]
  disconnect(): Promise<void>
  failNext(...faults: SendFault[]): void
  /** The next requests of this kind are answered with a status. */
  failRequest(request: string, ...statuses: number[]): void
  /** Resolves when the channel has shown that the agent is typing. */
  typed(channelId: string): Promise<void>
  loseNextAnswer(): void
  limitNext(retryAfterMs: number): void
  /** Serves a file, and returns the attachment to put into a message. */
  serve(file: { filename: string; content_type?: string; data: FileContent; size: number }): Fields
  /** Resolves when the condition holds, which is checked after each request. */
  until(done: () => boolean): Promise<void>
  /** Resolves when this many messages were accepted. */
  holds(count: number): Promise<SentMessage[]>
}

/** @param token The token of the bot; `bot` is the bot's id. */
export async function openDiscord({ token = 'bot-token.of-the.tests_0123456789', bot = botId } = {}): Promise<Discord> {
  const state = createState(token, bot)
  const server = createServer((request, response) => {
    answer(state, { request, response }).catch((error: unknown) => {
      state.unexpected.push(String(error))
      response.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const gateway = await startDiscordGateway({ server, token, botId: bot, unexpected: state.unexpected })
  state.gatewayUrl = gateway.url
  const ann: Fields = { id: annId, username: 'ann', global_name: 'Ann' }
  const post = (fields: Fields) => {
    const message = createMessage(state, { author: { ...ann }, ...fields })
    gateway.dispatch('MESSAGE_CREATE', message)
  }
  const places = {
    group: { channel_id: channelId, guild_id: guildId },
    thread: { channel_id: threadId, guild_id: guildId },
  }
  const attach = ({ name, type, size, content }: SaidFile) =>
    serve({ filename: name, content_type: type, data: content, size })
  const apiRoot = `http://127.0.0.1:${port}/api`
  const serve: Discord['serve'] = ({ filename, content_type, data, size }) => {
    const path = `/attachments/${state.files.size}/${filename}`
    state.files.set(path, data)
    return { id: '1', filename, content_type, size, url: `http://127.0.0.1:${port}${path}` }
  }
  return {
    config: { token, apiRoot },
    badConfig: { token: 'another-token.that-is.wrong_0123456789', apiRoot },
    to: directId,
    sent: state.sent,
    user: state.user,
    requests: state.requests,
    confirmed: state.confirmed,
    gateway,
    messages: async () =>
      state.sent.map(({ to, text, files: [file], buttons, hasPreviews }) => ({
        ...(to === threadId ? { to: channelId, threadId } : { to }),
        text,
        file,
        fetches: hasPreviews ? linksIn(text) : [],
        choices: buttons.map(({ label }) => label),
      })),
    say: async (text, fields = {}) => post({ content: text, ...fields }),
    rename: async (name) => void (ann['global_name'] = name),
    sayInGroup: async (text, { mentioned, inThread }) => {
      const mention = { content: `<@${bot}> ${text}`, mentions: [{ id: bot }] }
      post({ content: text, ...places[inThread ? 'thread' : 'group'], ...(mentioned && mention) })
    },
    sayInThread: async (text) => post({ content: text, ...places.thread }),
    edit: async (text) => {
      const last = state.said.at(-1)
      Object.assign(last ?? {}, { content: text, edited_timestamp: new Date().toISOString() })
      gateway.dispatch('MESSAGE_UPDATE', last)
    },
    press: async (label, fields = {}) => {
      const found = state.asked.findLast(({ buttons }) => buttons.some((button) => button.label === label))
      const button = found?.buttons.find((one) => one.label === label)
      if (!found || !button) throw new Error(`There is no button that says "${label}".`)
      const user = { id: annId, username: 'ann', global_name: 'Ann' }
      const sender = found.to === directId ? { user } : { member: { nick: null, user }, guild_id: guildId }
      const id = nextId(state)
      gateway.dispatch('INTERACTION_CREATE', {
        id,
        application_id: bot,
        type: 3,
        version: 1,
        token: `aW50ZXJhY3Rpb246${id}`,
        channel_id: found.to,
        message: { id: found.id, channel_id: found.to },
        data: { component_type: 2, custom_id: button.custom_id },
        ...sender,
        ...fields,
      })
    },
    echo: async (text) => post({ content: text, author: { id: bot, username: 'bot', bot: true } }),
    disconnect: () => gateway.disconnect(4000),
    failNext: (...faults) => void state.faults.push(...faults),
    failRequest: (request, ...statuses) => void state.failing.set(request, statuses),
    typed: async (channel) => {
      while (!state.requests.includes(`POST /channels/${channel}/typing`)) await once(state.changes, 'change')
    },
    loseNextAnswer: () => void state.faults.push('drop-after'),
    answerNext: (status) => void state.faults.push(status === 500 ? { statusAfter: status } : { status }),
    limitNext: (ms) => void state.faults.push(rateLimit(ms)),
    serve,
    redirectNextDownload: state.redirects.redirectNextDownload,
    sayWithFile: async (text, file, place) =>
      post({ content: text, attachments: [attach(file)], ...(place && places[place]) }),
    sayWithFiles: async (text, files) => post({ content: text, attachments: files.map(attach) }),
    // `APIMessage` of discord-api-types: `referenced_message` is there for answers, `message_snapshots` for what is passed
    // on, without its author.
    answer: async (text, original) => {
      const own = state.sent.at(-1)
      const said = state.said.findLast((message) => message['channel_id'] === channelId)
      const answered =
        original === 'own' && own
          ? { id: own.id, channel_id: own.to, type: 0, author: state.user, content: own.text, attachments: [] }
          : said
      const { id: message_id, channel_id } = answered ?? {}
      const reference = {
        type: 19,
        message_reference: { type: 0, message_id, channel_id },
        referenced_message: answered,
      }
      const mention = { ...places.group, content: `<@${bot}> ${text}`, mentions: [{ id: bot }] }
      post({ ...reference, content: text, ...(original === 'other' && mention) })
    },
    forward: async (text) => {
      const snapshot = { type: 0, content: text, attachments: [], embeds: [], mentions: [], flags: 0 }
      const message_reference = { type: 1, message_id: nextId(state), channel_id: channelId }
      post({ content: '', message_reference, message_snapshots: [{ message: snapshot }] })
    },
    until: async (done) => {
      while (!done()) await once(state.changes, 'change')
    },
    holds: async (count) => {
      while (state.sent.length < count) await once(state.changes, 'change')
      return state.sent
    },
    async close() {
      await gateway.close()
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
      if (state.unexpected.length) throw new Error(`Discord got what it does not know: ${state.unexpected.join(', ')}`)
    },
  }
}

function createState(token: string, bot: string) {
  return {
    token,
    bot,
    user: { id: bot, username: 'bot', bot: true } as Fields,
    gatewayUrl: '',
    sent: [] as SentMessage[],
    /** The messages that were sent with buttons. */
    asked: [] as { id: string; to: string; buttons: Button[] }[],
    confirmed: [] as { id: string; type: number }[],
    requests: [] as string[],
    unexpected: [] as string[],
    faults: [] as SendFault[],
    failing: new Map<string, number[]>(),
    files: new Map<string, FileContent>(),
    redirects: createRedirects(),
    /** The messages of each channel, oldest first, as `GET` returns them. */
    history: new Map<string, Fields[]>(),
    /** Every message, oldest first. */
    said: [] as Fields[],
    /** The roles of the server. A bot gets one with its permissions (docs/topics/permissions.md, "Role Tags Structure"). */
    roles: [
      { id: '1', name: '@everyone' },
      { id: roleId, name: 'bot', managed: true, tags: { bot_id: bot } },
      { id: otherRoleId, name: 'another bot', managed: true, tags: { bot_id: '900000000000000002' } },
    ] as Fields[],
    nonces: new Map<string, Fields>(),
    channels: new Map<string, Fields>([
      [directId, { id: directId, type: 1, recipients: [{ id: annId }] }],
      [channelId, { id: channelId, type: 0, guild_id: guildId }],
      [threadId, { id: threadId, type: 11, guild_id: guildId, parent_id: channelId }],
    ]),
    lastId: 0n,
    changes: new EventTarget(),
  }
}

type State = ReturnType<typeof createState>

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** Discord's ids: milliseconds since 2015 in the upper bits, growing. */
function nextId(state: State): string {
  const now = BigInt(Date.now() - 1_420_070_400_000) << 22n
  state.lastId = now > state.lastId ? now : state.lastId + 1n
  return String(state.lastId)
}

function createMessage(state: State, fields: Fields): Fields {
  const message: Fields = {
    id: nextId(state),
    channel_id: directId,
    type: 0,
    author: { id: annId, username: 'ann', global_name: 'Ann' },
    timestamp: new Date().toISOString(),
    mentions: [],
    attachments: [],
    ...fields,
  }
  const channel = String(message['channel_id'])
  // Only events hold the id of the server.
  const { guild_id: _, ...stored } = message
  state.said.push(stored)
  state.history.set(channel, [...(state.history.get(channel) ?? []), stored])
  return message
}

async function answer(state: State, { request, response }: Exchange): Promise<void> {
  const url = new URL(request.url ?? '', 'http://127.0.0.1')
  const body = await buffer(request)
  const file = state.files.get(url.pathname)
  if (file !== undefined) {
    if (request.headers.authorization) state.unexpected.push('the token of the bot, sent to the file server')
    return state.redirects.answer(request.url, response) ? undefined : sendContent(response, file)
  }
  const path = decodeURIComponent(url.pathname.replace(/^\/api\/v10/, ''))
  const name = `${request.method} ${path}`
  state.requests.push(name)
  state.changes.dispatchEvent(new Event('change'))
  const confirmation = /^POST \/interactions\/(\d+)\/[\w-]+\/callback$/.exec(name)
  if (confirmation) return confirm(state, { response, id: confirmation[1] ?? '', body })
  if (request.headers.authorization !== `Bot ${state.token}`)
    return reply(response, 401, { message: '401: Unauthorized', code: 0 })
  const failing = state.failing.get(name)?.shift()
  if (failing !== undefined) return reply(response, failing, { message: 'failed', code: 0 })
  const route = routes.find(([pattern]) => pattern.test(name))
  if (!route) {
    state.unexpected.push(name)
    return reply(response, 404, { message: '404: Not Found', code: 0 })
  }
  const [pattern, act] = route
  await act({ state, request, response, url, body, id: pattern.exec(name)?.[1] ?? '' })
}

interface Call extends Exchange {
  state: State
  url: URL
  body: Buffer
  /** The id of the channel in the path. */
  id: string
}

const routes: readonly (readonly [RegExp, (call: Call) => unknown])[] = [
  [/^GET \/users\/@me$/, ({ state, response }) => reply(response, 200, state.user)],
  [/^GET \/gateway\/bot$/, ({ state, response }) => reply(response, 200, gatewayInformation(state.gatewayUrl))],
  [/^POST \/users\/@me\/channels$/, openDirect],
  [/^GET \/channels\/(\d+)$/, ({ state, response, id }) => replyKnown(response, state.channels.get(id))],
  [/^GET \/guilds\/\d+\/roles$/, ({ state, response }) => reply(response, 200, state.roles)],
  [/^GET \/channels\/(\d+)\/messages$/, readMessages],
  [/^POST \/channels\/(\d+)\/messages$/, acceptMessage],
  [/^PATCH \/channels\/(\d+)\/messages\/\d+$/, changeMessage],
  // Without a body and without its type, as Discord answers.
  [/^POST \/channels\/(\d+)\/typing$/, ({ response }) => response.writeHead(204).end()],
]

const gatewayInformation = (url: string) => ({
  url,
  shards: 1,
  session_start_limit: { total: 1000, remaining: 999, reset_after: 14_400_000, max_concurrency: 1 },
})

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const replyKnown = (response: ServerResponse, channel: Fields | undefined) =>
  channel ? reply(response, 200, channel) : reply(response, 404, { message: 'Unknown Channel', code: 10_003 })

function openDirect({ state, response, body }: Call): void {
  const { recipient_id: recipient } = JSON.parse(body.toString()) as { recipient_id: string }
  const isKnown = recipient === annId
  if (isKnown) reply(response, 200, state.channels.get(directId))
  else reply(response, 400, { message: 'Invalid Recipient(s)', code: 50_033 })
}

/** The messages that follow `after`, the newest of them first. */
function readMessages({ state, response, url, id }: Call): void {
  if (!state.channels.has(id)) return replyKnown(response, undefined)
  const after = BigInt(url.searchParams.get('after') ?? '0')
  const limit = Number(url.searchParams.get('limit') ?? '50')
  const later = (state.history.get(id) ?? []).filter((message) => BigInt(String(message['id'])) > after)
  reply(response, 200, later.slice(0, limit).toReversed())
}

async function acceptMessage({ state, request, response, body, id }: Call): Promise<void> {
  const { payload, files } = await readForm(request, body)
  const fault = state.faults.shift()
  if (fault === 'drop-before') return void request.socket.destroy()
  if (typeof fault === 'object' && 'status' in fault) {
    setHeaders(response, fault.headers)
    return reply(response, fault.status, fault.body ?? { message: 'no', code: fault.code ?? 0 })
  }
  if (!state.channels.has(id)) return replyKnown(response, undefined)
  const { content = '', nonce, enforce_nonce: enforced, allowed_mentions: mentions } = payload
  const buttons = buttonsIn(payload)
  if (content.length > 2000 || (content === '' && files.length === 0) || (nonce?.length ?? 0) > 25 || !buttons)
    return reply(response, 400, { message: 'Invalid Form Body', code: 50_035 })
  if (nonce === undefined || !enforced) state.unexpected.push('a message that could be duplicated: it has no nonce')
  if (mentions?.parse.length !== 0) state.unexpected.push('a message that can notify everyone')
  const known = state.nonces.get(String(nonce))
  const message =
    known ?? createMessage(state, { channel_id: id, content, author: { id: state.bot, bot: true }, nonce })
  if (!known) {
    state.nonces.set(String(nonce), message)
    const hasPreviews = ((payload.flags ?? 0) & (1 << 2)) === 0
    const messageId = String(message['id'])
    state.sent.push({ to: id, text: content, nonce: String(nonce), hasPreviews, files, id: messageId, buttons })
    if (buttons.length > 0) state.asked.push({ id: messageId, to: id, buttons })
    state.changes.dispatchEvent(new Event('change'))
  }
  if (typeof fault === 'object') return reply(response, fault.statusAfter, { message: 'no', code: 0 })
  if (fault === 'drop-after') return void request.socket.destroy()
  if (fault === 'hang') return
  setHeaders(response, rateLimitHeaders({ remaining: 4, resetAfterMs: 1000 }))
  reply(response, 200, message)
}

const setHeaders = (response: ServerResponse, headers: Record<string, string> = {}) =>
  Object.entries(headers).forEach(([name, value]) => response.setHeader(name, value))

/** Undefined if Discord would refuse them. */
function buttonsIn({ components = [] }: Payload): Button[] | undefined {
  const buttons = components.flatMap((row) => row.components)
  const isValid = ({ type, style, label, custom_id: id }: Button) =>
    type === 2 && style >= 1 && style <= 4 && label.length <= 80 && id !== '' && id.length <= 100
  const fits = components.every((row) => row.type === 1 && row.components.length <= 5)
  const names = new Set(buttons.map(({ custom_id: id }) => id))
  return fits && names.size === buttons.length && buttons.every(isValid) ? buttons : undefined
}

function changeMessage({ state, response, url, body }: Call): void {
  const message = state.sent.find(({ id }) => url.pathname.endsWith(`/${id}`))
  const { content, ...change } = JSON.parse(body.toString()) as Payload
  if (!message || content !== undefined) return reply(response, 404, { message: 'Unknown Message', code: 10_008 })
  message.buttons = buttonsIn(change) ?? message.buttons
  reply(response, 200, { id: message.id })
}

function confirm(state: State, { response, id, body }: { response: ServerResponse; id: string; body: Buffer }): void {
  const { type } = JSON.parse(body.toString()) as { type: number }
  const isKnown = state.confirmed.some((one) => one.id === id)
  if (isKnown) return reply(response, 400, { message: 'Interaction has already been acknowledged.', code: 40_060 })
  state.confirmed.push({ id, type })
  state.changes.dispatchEvent(new Event('change'))
  response.writeHead(204).end()
}

interface Payload {
  components?: { type: number; components: Button[] }[]
  content?: string
  nonce?: string
  enforce_nonce?: boolean
  flags?: number
  allowed_mentions?: { parse: unknown[] }
}

/** A message is JSON, or a form with JSON and files. */
async function readForm(request: IncomingMessage, body: Buffer) {
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return { payload: JSON.parse(body.toString()) as Payload, files: [] }
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const payload = JSON.parse(form.get('payload_json') as string) as Payload
  const files = [...form.values()].filter((value) => typeof value !== 'string')
  return {
    payload,
    files: await Promise.all(
      files.map(async (file) => ({
        name: file.name,
        type: file.type,
        text: await file.text(),
        content: new Uint8Array(await file.arrayBuffer()),
      })),
    ),
  }
}

const rateLimit = (ms: number): SendFault => ({
  status: 429,
  body: { message: 'You are being rate limited.', retry_after: ms / 1000, global: false },
  headers: {
    ...rateLimitHeaders({ remaining: 4, resetAfterMs: ms }),
    'retry-after': String(ms / 1000),
    'x-ratelimit-scope': 'user',
  },
})

const rateLimitHeaders = ({ remaining, resetAfterMs }: { remaining: number; resetAfterMs: number }) => ({
  'x-ratelimit-limit': '5',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset-after': String(resetAfterMs / 1000),
  'x-ratelimit-bucket': 'abcd',
})
