// A double of Telegram's Bot API on loopback: long polling, texts in HTML, files, and faults on demand. Updates are as in
// `Client.cpp` of github.com/tdlib/telegram-bot-api.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Platform } from '../contracts.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn } from './fetches.ts'

export interface TelegramConfig {
  botToken: string
  apiRoot: string
}

/** A message of the bot that Telegram has accepted. */
export interface SentMessage {
  method: string
  to: string
  /** The text or caption as it was sent. */
  text: string
  /** What people see, without marks. */
  shown: string
  parseMode?: string
  threadId?: number
  previews?: boolean
  file?: { name: string; content: string; bytes: Uint8Array }
  id: number
  buttons?: Button[]
}

interface Button {
  text: string
  callback_data: string
}

/** What happens to the next call of a method. */
export type TelegramFault =
  | { status: number; description: string; parameters?: object }
  /** The call takes effect, and is answered with this status nevertheless. */
  | { statusAfter: number }
  /** The call takes effect, but its answer is lost. */
  | 'lose'
  /** The connection closes before the call takes effect. */
  | 'drop'
  /** The answer is not JSON. */
  | 'garbage'

export interface TelegramDouble extends Platform<TelegramConfig> {
  sent: readonly SentMessage[]
  /** The calls of this method so far. */
  calls(method: string): readonly Record<string, unknown>[]
  /** Resolves when the method has been called this many times. */
  called(method: string, count: number): Promise<void>
  /** Resolves when a poll waits for updates. */
  polled(): Promise<void>
  fail(method: string, fault: TelegramFault): void
  /** Changes what Telegram says of the bot. */
  describeBot(fields: object): void
  /** Adds an update, or whatever else. Fields of a message are added if they are missing. */
  push(message: object): void
  pushRaw(update: unknown): void
  /** Resolves when nobody is connected. */
  deserted(): Promise<void>
  /** Makes a file available to `getFile`. Its download can `fail` as the method `file`. */
  addFile(id: string, content: string): void
  /** The group has become a supergroup with another id. */
  migrate(from: string, to: number): void
  press(label: string, query?: object): Promise<void>
}

const token = '123456:AAtelegram-token-0123456789'
export const bot = {
  id: 123456,
  is_bot: true,
  first_name: 'Gate',
  username: 'GateTestBot',
  can_join_groups: true,
  can_read_all_group_messages: true,
}
const ann = { id: 42, is_bot: false, first_name: 'Ann', last_name: 'Lee' }
const bob = { id: 43, is_bot: false, first_name: 'Bob' }
const group = { id: -1001, type: 'supergroup', title: 'Team' }

export async function openTelegram(): Promise<TelegramDouble> {
  const state = createState()
  const server = createServer((request, response) => void serve(state, request, response))
  server.on('connection', (socket) => {
    state.sockets.add(socket)
    socket.once('close', () => {
      state.sockets.delete(socket)
      state.changes.dispatchEvent(new Event('disconnect'))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const apiRoot = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let person = ann
  const say = (message: object) => state.push({ from: person, chat: { id: ann.id, type: 'private' }, ...message })
  const topic = { chat: { ...group, is_forum: true }, is_topic_message: true, message_thread_id: 7 }
  const places = { group: { chat: group }, thread: topic }
  const polled = async () => {
    while (!state.polls.some(isOpen)) await once(state.changes, 'call')
  }
  return {
    config: { botToken: token, apiRoot },
    badConfig: { botToken: '654321:BBanother-token-9876543210', apiRoot },
    to: String(ann.id),
    messages: async () =>
      state.sent.map(({ to, text, threadId, file, buttons, previews }) => ({
        to,
        text,
        threadId: threadId?.toString(),
        fetches: previews ? linksIn(text) : [],
        file: file && { name: file.name, content: file.bytes },
        choices: buttons?.map((button) => button.text),
      })),
    say: async (text) => say({ text }),
    rename: async (name) => void (person = { ...ann, first_name: name, last_name: '' }),
    sayInThread: async (text) => say({ ...topic, text }),
    edit: async (text) => {
      state.pushRaw({
        update_id: state.nextNumber(),
        edited_message: { ...state.said.at(-1), text, edit_date: 1_790_000_001 },
      })
    },
    async sayInGroup(text, { mentioned, inThread }) {
      const mention = { text: `@${bot.username} ${text}`, entities: [{ type: 'mention', offset: 0, length: 12 }] }
      say({ ...(inThread ? topic : places.group), ...(mentioned ? mention : { text }) })
    },
    async sayWithFile(text, { name, type, size, content }, place) {
      state.files.set(name, content)
      say({
        ...(place && places[place]),
        ...(text && { caption: text }),
        document: { file_id: name, file_name: name, mime_type: type, file_size: size },
      })
    },
    redirectNextDownload: state.redirects.redirectNextDownload,
    // Each file of an album is a message. The text is the caption of the first one.
    async sayWithFiles(text, files) {
      const album = { media_group_id: String(state.nextNumber()) }
      for (const [index, { name, type, size, content }] of files.entries()) {
        state.files.set(name, content)
        const document = { file_id: name, file_name: name, mime_type: type, file_size: size }
        say({ ...album, ...(index === 0 && { caption: text }), document })
      }
    },
    // `JsonMessage`: the message that is answered is there without the one that it answers itself.
    async answer(text, original) {
      const own = state.sent.at(-1)
      if (original === 'own' && own) {
        const chat = { id: Number(own.to), type: Number(own.to) < 0 ? 'supergroup' : 'private' }
        say({
          chat,
          text,
          reply_to_message: { message_id: own.id, date: 1_790_000_000, chat, from: bot, text: own.shown },
        })
      } else {
        const said = state.said.findLast(({ chat }) => (chat as { id?: number } | undefined)?.id === group.id)
        const { reply_to_message: _, ...quoted } = { ...said, reply_to_message: undefined }
        const mention = { type: 'mention', offset: 0, length: 12 }
        say({ chat: group, text: `@${bot.username} ${text}`, entities: [mention], reply_to_message: quoted })
      }
    },
    forward: async (text) => say({ text, forward_origin: { type: 'user', date: 1_780_000_000, sender_user: bob } }),
    async press(label, query = {}) {
      const found = state.asked.findLast(({ buttons }) => buttons.some(({ text }) => text === label))
      const button = found?.buttons.find(({ text }) => text === label)
      if (!found || !button) throw new Error(`There is no button that says "${label}".`)
      const chat = Number(found.to) < 0 ? { ...group, id: Number(found.to) } : { id: Number(found.to), type: 'private' }
      const thread = found.threadId === undefined ? {} : { is_topic_message: true, message_thread_id: found.threadId }
      const message = { message_id: found.id, date: 1_790_000_000, chat, from: bot, ...thread }
      const common = { id: `query-${state.nextNumber()}`, from: ann, chat_instance: '1', message }
      state.pushRaw({
        update_id: state.nextNumber(),
        callback_query: { ...common, data: button.callback_data, ...query },
      })
    },
    echo: async (text) => say({ text, from: bot }),
    async disconnect() {
      await polled()
      server.closeAllConnections()
    },
    answerNext: (status) =>
      state.fail('sendMessage', status === 500 ? { statusAfter: status } : { status, description: 'Refused' }),
    loseNextAnswer: () => state.fail('sendMessage', 'lose'),
    limitNext: (ms) => state.fail('sendMessage', tooManyRequests(ms / 1000)),
    async close() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
      if (state.unexpected.length > 0) throw new Error(`unexpected calls of Telegram: ${state.unexpected.join(', ')}`)
    },
    sent: state.sent,
    calls: (method) => state.calls.filter((call) => call.method === method).map(({ args }) => args),
    async called(method, count) {
      while (state.calls.filter((call) => call.method === method).length < count) await once(state.changes, 'call')
    },
    polled,
    async deserted() {
      while (state.sockets.size > 0) await once(state.changes, 'disconnect')
    },
    fail: state.fail,
    describeBot: (fields: object) => void (state.me = fields),
    push: say,
    pushRaw: state.pushRaw,
    addFile: (id, content) => void state.files.set(id, content),
    migrate: (from, to) => void state.migrated.set(from, to),
  }
}

const isOpen = (response: ServerResponse) => !response.writableEnded && !response.destroyed

export const tooManyRequests = (seconds: number): TelegramFault => ({
  status: 429,
  description: `Too Many Requests: retry after ${seconds}`,
  parameters: { retry_after: seconds },
})

type State = ReturnType<typeof createState>
type Args = Record<string, unknown>

function createState() {
  const updates: ({ update_id?: unknown } | null)[] = []
  /** Every message of a person. */
  const said: Record<string, unknown>[] = []
  const faults: { method: string; fault: TelegramFault }[] = []
  const changes = new EventTarget()
  let number = 100
  const pushRaw = (update: unknown) => {
    updates.push(update as object)
    changes.dispatchEvent(new Event('update'))
  }
  return {
    updates,
    changes,
    sent: [] as SentMessage[],
    /** The messages that were sent with buttons. */
    asked: [] as { id: number; to: string; threadId?: number; buttons: Button[] }[],
    polls: [] as ServerResponse[],
    calls: [] as { method: string; args: Args }[],
    unexpected: [] as string[],
    /** What `getMe` says instead. */
    me: {} as object,
    sockets: new Set<Socket>(),
    files: new Map<string, FileContent>(),
    redirects: createRedirects(),
    migrated: new Map<string, number>(),
    nextNumber: () => number++,
    pushRaw,
    said,
    push(message: object): void {
      said.push({ message_id: number++, date: 1_790_000_000, ...message })
      pushRaw({ update_id: number++, message: said.at(-1) })
    },
    fail: (method: string, fault: TelegramFault) => void faults.push({ method, fault }),
    takeFault(method: string): TelegramFault | undefined {
      const index = faults.findIndex((entry) => entry.method === method)
      return index < 0 ? undefined : faults.splice(index, 1)[0]?.fault
    },
  }
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, prefix, path = ''] = /^(\/(?:file\/)?bot[^/]+)\/(.*)$/.exec(request.url ?? '') ?? []
  if (prefix === `/file/bot${token}`)
    return state.redirects.answer(request.url, response) ? undefined : serveFile(state, decodeURI(path), response)
  if (prefix !== `/bot${token}`) return refuse(response, { status: 401, description: 'Unauthorized' })
  const args = await argsOf(request)
  state.calls.push({ method: path, args })
  const fault = state.takeFault(path)
  if (fault === 'drop') response.destroy()
  else if (fault === 'garbage') response.writeHead(502).end('<html>Bad Gateway</html>')
  else if (typeof fault === 'object' && 'status' in fault) refuse(response, fault)
  else await answer(state, { method: path, args, response, after: fault })
  state.changes.dispatchEvent(new Event('call'))
}

/** Texts are JSON; files come as a form. */
async function argsOf(request: IncomingMessage): Promise<Args> {
  const body = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/')) return body.length === 0 ? {} : (JSON.parse(body.toString()) as Args)
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  const args: Args = Object.fromEntries(form)
  for (const [key, value] of Object.entries(args)) {
    const file = typeof value === 'string' && value.startsWith('attach://') ? form.get(value.slice(9)) : undefined
    if (file instanceof File)
      args[key] = { name: file.name, content: await file.text(), bytes: new Uint8Array(await file.arrayBuffer()) }
  }
  return args
}

interface Call {
  method: string
  args: Args
  response: ServerResponse
  /** What happens to the answer. */
  after: 'lose' | { statusAfter: number } | undefined
}

async function answer(state: State, { method, args, response, after }: Call): Promise<void> {
  const ok = (result: unknown) => {
    if (after === 'lose') response.destroy()
    else if (after) refuse(response, { status: after.statusAfter, description: 'Internal Server Error' })
    else response.end(JSON.stringify({ ok: true, result }))
  }
  const file = /^send(Photo|Document)$/.exec(method)?.[1]?.toLowerCase()
  if (method === 'getMe') ok({ ...bot, ...state.me })
  else if (method === 'deleteWebhook' || method === 'sendChatAction' || method === 'answerCallbackQuery') ok(true)
  else if (method === 'editMessageReplyMarkup') answerEdit(state, { args, response }, ok)
  else if (method === 'getUpdates') void answerPoll(state, args, response)
  else if (method === 'sendMessage') answerSend(state, { method, args, response, limit: 4096, text: args['text'] }, ok)
  else if (file)
    answerSend(state, { method, args, response, limit: 1024, text: args['caption'] ?? '', file: args[file] }, ok)
  else if (method === 'getFile') answerGetFile(state, args, { response, ok })
  else {
    state.unexpected.push(method)
    refuse(response, { status: 404, description: `Not Found: ${method}` })
  }
}

/** A poll ends the one before, confirms what is before its offset, and waits until there is something. */
async function answerPoll(state: State, { offset, timeout }: Args, response: ServerResponse): Promise<void> {
  for (const older of state.polls.splice(0).filter(isOpen)) refuse(older, conflict)
  state.polls.push(response)
  const kept = state.updates.filter((update) => Number(update?.update_id ?? Infinity) >= Number(offset ?? 0))
  state.updates.splice(0, Infinity, ...kept)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  while (state.updates.length === 0 && timeout !== 0 && isOpen(response))
    await once(state.changes, 'update', { signal: gone.signal }).catch(() => undefined)
  if (!isOpen(response)) return
  response.end(JSON.stringify({ ok: true, result: state.updates.slice(0, 100) }))
  // What has no id cannot be confirmed.
  state.updates.splice(0, Infinity, ...state.updates.filter((update) => typeof update?.update_id === 'number'))
}

const conflict = {
  status: 409,
  description: 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
}

interface Send extends Omit<Call, 'after'> {
  limit: number
  text: unknown
  file?: unknown
}

function answerSend(state: State, send: Send, ok: (result: unknown) => void): void {
  const { method, args, response, limit, file } = send
  const [to, text] = [String(args['chat_id']), String(send.text)]
  const moved = state.migrated.get(to)
  const bad = (description: string, parameters?: object) =>
    refuse(response, { status: 400, description: `Bad Request: ${description}`, ...(parameters && { parameters }) })
  if (moved !== undefined) return bad('group chat was upgraded to a supergroup chat', { migrate_to_chat_id: moved })
  // Telegram knows the topic General by no number here (github.com/tdlib/telegram-bot-api issue 798).
  if (args['message_thread_id'] === 1) return bad('message thread not found')
  if (to === '404') return bad('chat not found')
  if (to === '403') return refuse(response, { status: 403, description: 'Forbidden: bot was blocked by the user' })
  const shown = args['parse_mode'] === 'HTML' ? renderHtml(text) : { text }
  if ('fault' in shown) return bad(`can't parse entities: ${shown.fault}`)
  if ([...shown.text].length > limit) return bad('message is too long')
  if (!file && shown.text.trim() === '') return bad('message text is empty')
  const buttons = buttonsIn(args)
  if (buttons?.some(({ callback_data: data }) => data === '' || Buffer.byteLength(data) > 64))
    return bad('BUTTON_DATA_INVALID')
  const id = state.nextNumber()
  const thread = args['message_thread_id'] === undefined ? {} : { threadId: Number(args['message_thread_id']) }
  if (buttons) state.asked.push({ id, to, ...thread, buttons })
  const preview = args['link_preview_options'] as { is_disabled?: boolean } | undefined
  state.sent.push({
    method,
    to,
    text,
    shown: shown.text,
    ...(typeof args['parse_mode'] === 'string' && { parseMode: args['parse_mode'] }),
    ...thread,
    id,
    ...(buttons && { buttons }),
    ...(!file && { previews: preview?.is_disabled !== true }),
    ...(file !== undefined && { file: file as NonNullable<SentMessage['file']> }),
  })
  const chat = to.startsWith('@') ? { id: -1003, type: 'channel' } : { id: Number(to), type: 'private' }
  ok({ message_id: id, date: 1_790_000_000, chat, text })
}

function buttonsIn({ reply_markup: markup }: Args): Button[] | undefined {
  const { inline_keyboard: rows } = (markup ?? {}) as { inline_keyboard?: Button[][] }
  if (rows?.some((row) => row.length > 8)) throw new Error('Telegram would not show so many buttons in a row.')
  return rows?.flat()
}

/** Only the buttons of a message can be changed. */
function answerEdit(
  state: State,
  { args, response }: { args: Args; response: ServerResponse },
  ok: (result: unknown) => void,
): void {
  const message = state.sent.find(({ id, to }) => id === args['message_id'] && to === String(args['chat_id']))
  const isChanged = message?.buttons !== undefined || args['reply_markup'] !== undefined
  if (!message || !isChanged)
    return refuse(response, { status: 400, description: 'Bad Request: message is not modified' })
  delete message.buttons
  ok({ message_id: message.id, date: 1_790_000_000 })
}

const tags: ReadonlySet<string> = new Set('b i s u code pre a blockquote'.split(' '))

/** Reads Telegram's HTML: known tags, closed in order, and `<`, `>` and `&` escaped. */
function renderHtml(html: string): { text: string } | { fault: string } {
  const open: string[] = []
  let text = ''
  for (const [token, slash, name] of html.matchAll(/<(\/?)([^\s>]*)[^>]*>?|&\w+;|[^<&]+|&/g)) {
    if (name === undefined) text += entities[token] ?? token
    else if (!tags.has(name) || !token.endsWith('>'))
      return { fault: `Unsupported start tag "${name}" at byte offset 0` }
    else if (!slash) open.push(name)
    else if (open.pop() !== name) return { fault: `Unexpected end tag at byte offset 0: ${token}` }
  }
  return open.length > 0 ? { fault: `Can't find end tag corresponding to start tag "${open.at(-1)}"` } : { text }
}

const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' }

function answerGetFile(
  { files }: State,
  { file_id: id }: Args,
  { response, ok }: { response: ServerResponse; ok(result: unknown): void },
): void {
  if (!files.has(String(id))) return refuse(response, { status: 400, description: 'Bad Request: file is too big' })
  ok({ file_id: id, file_unique_id: id, file_path: `documents/${String(id)}` })
}

function serveFile(state: State, path: string, response: ServerResponse): void {
  const content = state.files.get(path.replace('documents/', ''))
  if (state.takeFault('file')) response.destroy()
  else if (content === undefined) response.writeHead(404).end()
  else sendContent(response, content)
}

function refuse(response: ServerResponse, { status, ...answer }: { status: number; description: string }): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ok: false, error_code: status, ...answer }))
}
