// A double of imsg: an executable that passes the lines of its standard streams on to this process, which plays the
// Messages app and its database.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import type { Platform, SaidFile } from '../contracts.ts'

interface Config {
  cliPath: string
}

type Fields = Record<string, unknown>

/** What happens to the next call of a method. */
export type Fault =
  | { error: { code: number; message: string; data?: unknown } }
  | { result: unknown }
  /** The work is done, but imsg ends before it answers. */
  | 'lose'
  /** imsg ends before it does anything. */
  | 'drop'
  /** The work is done, but never answered. */
  | 'hang'

interface Options {
  /** Whether imsg also runs inside the Messages app. */
  hasBridge?: boolean
  isDatabaseReady?: boolean
  /** Whether imsg ignores signals and the end of its input. */
  isStubborn?: boolean
}

export interface ImessageDouble extends Platform<Config> {
  config: Config
  /** Settings that name a program that does not exist. */
  missing: Config
  group: string
  /** The folder in which Messages keeps files. */
  attachments: string
  /** Everything that was sent, with the contents of files. */
  sent: (Fields & { method: string; content?: string; bytes?: Uint8Array })[]
  /** Resolves when this many messages have been sent. */
  sends(count: number): Promise<ImessageDouble['sent']>
  /** The parameters of every call of a method. */
  calls(method: string): Fields[]
  failNext(method: string, fault: Fault): void
  /** The bridge starts or stops. */
  setBridge(isReady: boolean): void
  /** The addresses for which Messages has a conversation. */
  conversations: Set<string>
  /** Adds a row to the database. */
  add(row: Fields): void
  /** Writes a line to the output of imsg. */
  print(line: string): void
  say(text: string, row?: Fields): Promise<void>
  sayInGroup(text: string, options: { mentioned: boolean }): Promise<void>
  echo(text: string): Promise<void>
  disconnect(): Promise<void>
  /** The process ids of every imsg that was started, oldest first. */
  pids: number[]
}

const ann = '+15551112222'
const own = 'gateway@example.org'
const group = 'iMessage;+;chat831'

/** The parameters that imsg accepts. It refuses others. */
const methods: Record<string, readonly string[]> = {
  status: [],
  'watch.subscribe': ['since_rowid', 'attachments'],
  'messages.after': ['since_rowid', 'limit'],
  'watch.unsubscribe': ['subscription'],
  send: ['to', 'chat_guid', 'text', 'file'],
  'send.tracked': ['to', 'chat_guid', 'text', 'attempt_id'],
  'message.send_status': ['guid'],
  typing: ['to', 'chat_guid', 'typing'],
}

export async function openImessage(options: Options = {}): Promise<ImessageDouble> {
  const { isDatabaseReady = true, isStubborn = false } = options
  let hasBridge = options.hasBridge ?? true
  const folder = mkdtempSync(join(tmpdir(), 'imessage-'))
  const attachments = join(folder, 'Library/Messages/Attachments')
  mkdirSync(attachments, { recursive: true })
  const changes = new EventTarget()
  const calls: { method: string; params: Fields }[] = []
  const faults = new Map<string, Fault[]>()
  const rows: Fields[] = []
  const sent: ImessageDouble['sent'] = []
  const conversations = new Set([ann, group])
  const watchers = new Map<Socket, number>()
  const processes = new Set<Socket>()
  const unexpected: string[] = []
  const pids: number[] = []

  const write = (socket: Socket, message: object) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

  function serve(socket: Socket): void {
    processes.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      processes.delete(socket)
      watchers.delete(socket)
      changes.dispatchEvent(new Event('change'))
    })
    let isFirst = true
    const lines = createInterface({ input: socket })
    // It repeats the errors of the socket.
    lines.on('error', () => undefined)
    lines.on('line', (line) => {
      if (isFirst) pids.push(Number(line))
      else answer(socket, JSON.parse(line) as Parameters<typeof answer>[1])
      isFirst = false
    })
  }

  function answer(socket: Socket, { id, method, params }: { id: unknown; method: string; params: Fields }): void {
    const fault = faults.get(method)?.shift()
    if (fault === 'drop') return void socket.destroy()
    calls.push({ method, params })
    const result = typeof fault === 'object' ? fault : run(socket, method, params)
    changes.dispatchEvent(new Event('change'))
    if (fault === 'lose') return void socket.destroy()
    if (fault === 'hang') return
    write(socket, { id, ...result })
    if (method === 'watch.subscribe') notify()
  }

  function run(socket: Socket, method: string, params: Fields): object {
    const known = methods[method]
    if (!known) {
      unexpected.push(`the method ${method}`)
      return { error: { code: -32601, message: 'Method not found', data: method } }
    }
    const strange = Object.keys(params).find((name) => !known.includes(name))
    if (strange !== undefined) {
      unexpected.push(`the parameter ${strange} of ${method}`)
      return { error: { code: -32602, message: 'Invalid params', data: strange } }
    }
    if (method === 'status') return { result: status() }
    if (method === 'watch.unsubscribe') watchers.delete(socket)
    if (method === 'watch.unsubscribe' || method === 'typing') return { result: { ok: true } }
    if (method === 'message.send_status') return { result: sendStatus(String(params['guid'])) }
    if (method === 'send') return { result: send(method, params, randomUUID()) }
    if (method === 'send.tracked') return track(params)
    const since = Number(params['since_rowid'] ?? 0)
    if (method === 'messages.after') return { result: { messages: rows.slice(since, since + 1) } }
    // Zero is the newest row, and -1 means all rows.
    watchers.set(socket, since === 0 ? rows.length : Math.max(0, since))
    return { result: { subscription: 1, buffer_limit: 256 } }
  }

  const status = () => ({
    version: '0.15.10',
    protocol_version: 1,
    database: { ready: isDatabaseReady },
    bridge: { ready: hasBridge },
    methods: Object.keys(methods).filter((method) => method !== 'send.tracked' || hasBridge),
  })

  function track(params: Fields): object {
    const id = String(params['attempt_id'])
    const target = String(params['to'] ?? params['chat_guid'])
    if (!hasBridge || !conversations.has(target))
      return { error: { code: -32602, message: 'Invalid params', data: 'an existing chat is required' } }
    if (rows.some(({ guid }) => guid === id)) {
      const data = { retry_safe: true, disposition: 'not_started', transport: 'bridge', operation: 'send', detail: '' }
      return { error: { code: -32603, message: 'Delivery failed before dispatch', data } }
    }
    return { result: { ...send('send.tracked', params, id), attempt_id: id } }
  }

  function send(method: string, params: Fields, guid: string): object {
    const { file } = params
    const bytes = typeof file === 'string' ? readFileSync(file) : undefined
    sent.push({ method, ...params, ...(bytes && { content: bytes.toString(), bytes }) })
    const chat = params['chat_guid'] ?? `iMessage;-;${String(params['to'])}`
    add({ guid, chat_guid: chat, is_from_me: true, destination_caller_id: own, text: params['text'] ?? '' })
    return { ok: true, guid }
  }

  function sendStatus(guid: string): object {
    const row = rows.find((one) => one['guid'] === guid)
    if (!row) return { ok: true, guid, send_state: 'pending', status_fields: null }
    const isSent = row['is_from_me'] === true
    return { ok: true, guid, send_state: 'sent', status_fields: { is_sent: isSent, error: 0 } }
  }

  function add(row: Fields): void {
    const id = rows.length + 1
    const defaults = {
      guid: `G-${id}`,
      sender: ann,
      chat_guid: `iMessage;-;${ann}`,
      is_from_me: false,
      is_group: false,
    }
    // `resolveReplyParent` of imsg: the answered message, if the database has it. The sender of an own message is often
    // the person who got it.
    const answered = rows.find(({ guid }) => guid === (row['thread_originator_guid'] ?? row['reply_to_guid']))
    const parent = answered && { reply_to_text: answered['text'], reply_to_sender: answered['sender'] }
    rows.push({ id, chat_id: 1, ...defaults, attachments: [], ...parent, ...row })
    notify()
  }

  function notify(): void {
    for (const [socket, last] of watchers) {
      for (const row of rows.slice(last)) {
        watchers.set(socket, Number(row['id']))
        write(socket, { method: 'message', params: { subscription: 1, message: row } })
      }
    }
  }

  const server = createServer({ noDelay: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cliPath = join(folder, 'imsg')
  writeFileSync(cliPath, script((server.address() as AddressInfo).port, isStubborn), { mode: 0o700 })

  let senderName = 'Ann'
  const inGroup = { chat_guid: group, is_group: true }

  /** Stores a file, and returns what the row says about it. It is a pipe, so that it is produced as it is read. */
  function keepFile({ name, type, size, content }: SaidFile): Fields {
    const path = join(attachments, name)
    execFileSync('mkfifo', [path])
    pipeline(content(), createWriteStream(path)).catch(() => undefined)
    return { filename: path, transfer_name: name, mime_type: type, total_bytes: size, original_path: path }
  }

  return {
    config: { cliPath },
    missing: { cliPath: join(folder, 'missing') },
    to: ann,
    group,
    attachments,
    sent,
    conversations,
    pids,
    sends: async (count) => {
      while (sent.length < count) await once(changes, 'change')
      return sent
    },
    calls: (method) => calls.filter((call) => call.method === method).map(({ params }) => params),
    messages: async () =>
      sent.map(({ to, chat_guid: chat, text, file, bytes }) => ({
        to: String(to ?? chat),
        text: typeof text === 'string' ? text : '',
        file: bytes && { name: basename(String(file)), content: bytes },
      })),
    failNext: (method, fault) => void faults.set(method, [...(faults.get(method) ?? []), fault]),
    setBridge: (isReady) => void (hasBridge = isReady),
    add,
    print: (line) => processes.forEach((socket) => void socket.write(`${line}\n`)),
    say: async (text, row = {}) => add({ text, sender_name: senderName, ...row }),
    rename: async (name) => void (senderName = name),
    async sayInGroup(text, { mentioned }) {
      const mine = rows.find((row) => row['is_from_me'] === true)
      if (mentioned && !mine) add({ ...inGroup, guid: 'mine', is_from_me: true, text: 'An earlier message.' })
      add({ ...inGroup, text, ...(mentioned && { thread_originator_guid: mine?.['guid'] ?? 'mine' }) })
    },
    answer: async (text, original) => {
      const isOwn = (row: Fields) => row['is_from_me'] === true
      const answered = rows.findLast((row) =>
        original === 'own' ? isOwn(row) : row['is_group'] === true && !isOwn(row),
      )
      add({ text, ...(original === 'other' && inGroup), thread_originator_guid: answered?.['guid'] })
    },
    sayWithFile: async (text, file, place) => add({ text, attachments: [keepFile(file)], ...(place && inGroup) }),
    sayWithFiles: async (text, files) => add({ text, attachments: files.map(keepFile) }),
    echo: async (text) => add({ text, is_from_me: true, sender: '', destination_caller_id: own }),
    async disconnect() {
      for (const socket of processes) socket.destroy()
      while (processes.size > 0) await once(changes, 'change')
    },
    loseNextAnswer: () => {
      const method = hasBridge ? 'send.tracked' : 'send'
      faults.set(method, ['lose'])
    },
    async close() {
      for (const socket of processes) socket.destroy()
      server.close()
      await once(server, 'close')
      rmSync(folder, { recursive: true })
      if (unexpected.length > 0) throw new Error(`the double of imsg refused: ${unexpected.join(', ')}`)
    },
  }
}

/** Prints something on standard error that must not appear in the log. Bash starts faster than Node. */
const script = (port: number, isStubborn: boolean) => `#!/usr/bin/env bash
[ "$1" = rpc ] || exit 2
echo 'canary of standard error' >&2
${isStubborn ? "trap '' TERM" : ''}
exec 3<>/dev/tcp/127.0.0.1/${port} 4<&0
echo $$ >&3
{ cat <&4 >&3 && kill 0; } &
cat <&3
exit 7
`
