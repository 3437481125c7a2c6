// A chat service on loopback with scripted responses, and the plugin with its three channels.
import { copyFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { InboundMessage, Json, OutboundMessage, SentMessage, UncertainMessage } from '../../core/plugin/plugin.ts'
import type { Document } from '../helpers.ts'
import { closeAtEnd } from '../share.ts'

type Name = 'chat-native' | 'chat-reconcile' | 'chat-none'

/** What happens to the next message. A message without a script is accepted and confirmed. */
type SendScript =
  /** Not accepted. The plugin returns this value. */
  | { answer: unknown }
  /** Accepted, but the connection closes before the response. */
  | 'lose'
  /** The connection closes before the message is accepted. */
  | 'drop'
  /** Accepted, never answered. */
  | 'hang'
  /** Accepted only after this many reconcile calls, never answered. */
  | { acceptAfterReconciles: number }
  /** The plugin throws. */
  | 'throw'

/** The data of a file is text here. */
type Attempt = Omit<OutboundMessage, 'file'> & {
  channel: Name
  accountId: string
  file?: { name: string; type: string; data: string }
}

export interface Chat {
  /** Returns the configuration of the plugin and of its channels with these settings. */
  config(dir: string, channels: Partial<Record<Name, Document>>): { plugins: string[]; channels: Document }
  /** Every accepted message, in order. */
  held: Attempt[]
  /** Every attempt to send, in order. */
  attempts: Attempt[]
  /** The settings and accounts that connected, in order. */
  connected: { channel: Name; accountId: string; config: Document }[]
  /** Resolves after this many attempts. */
  attempted(count: number): Promise<Attempt[]>
  /** Resolves when the service has accepted this many messages, to this recipient if one is given. */
  holds(count: number, to?: string): Promise<Attempt[]>
  script(...answers: SendScript[]): void
  /** The results of the next reconcile calls. `fail` makes the plugin reject. */
  scriptReconcile(...answers: ('unknown' | 'fail' | 'hang')[]): void
  /** Every message that was asked for with reconcile, in order. */
  asked: UncertainMessage[]
  /** Makes this many attempts to connect fail. */
  refuse(connections: number): void
  /** The messages whose choices were removed, in order. */
  cleared: SentMessage[]
  /** Each time that typing was shown (`on`) or ended, with the time in milliseconds. */
  typing: (TypingCall & { at: number })[]
  /** Resolves after this many of them, for this recipient if one is given. */
  typed(count: number, to?: string): Promise<Chat['typing']>
  /** Makes showing and ending it fail from now on. */
  failTyping(): void
  /** Never answers the closing of a connection. */
  hangOnClose(): void
  /** Sends an inbound message, to any account or to this one. Resolves with the result that the plugin received. */
  say(message: SaidMessage, channel?: Name, accountId?: string): Promise<string>
  /** Does the same for one account of `chat-native`. */
  sayTo(accountId: string, message: SaidMessage): Promise<string>
  /** Reports that a group has another id. */
  move(from: string, to: string): Promise<string>
}

/** A message as the service sends it. A download with `times` repeats the text. */
type SaidMessage = Partial<Omit<InboundMessage, 'attachments'>> & {
  moved?: [from: string, to: string]
  attachments?: {
    name: string
    type: string
    size?: number
    content?: { text: string; times?: number } | 'fail' | 'hang'
  }[]
}

/** Starts the service, which is closed when the test ends. */
export async function startChat(): Promise<Chat> {
  const service = createService()
  const server = createServer((request, response) => void service.serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeAtEnd(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...service.chat,
    config: (dir, channels) => ({
      plugins: [installPlugin(dir)],
      channels: Object.fromEntries(Object.entries(channels).map(([name, settings]) => [name, { url, ...settings }])),
    }),
  }
}

function installPlugin(dir: string): string {
  copyFileSync(new URL('../fixtures/chat/chat.mjs', import.meta.url), join(dir, 'chat.mjs'))
  return './chat.mjs'
}

type TypingCall = { to: string; on: boolean; route?: Json }
type Call = { channel: Name; accountId: string; key: string; id: string; result: string; config: Document }

function createService() {
  const changes = new EventTarget()
  const [held, attempts, connected]: [Attempt[], Attempt[], Chat['connected']] = [[], [], []]
  const [sends, reconciles]: [SendScript[], string[]] = [[], []]
  const asked: UncertainMessage[] = []
  const inboxes: Waiting<SaidMessage>[] = []
  const readers: Waiting<(message: unknown) => void>[] = []
  /** The accounts that have connected and not closed. */
  const open = new Set<string>()
  const results = new Map<string, (result: string) => void>()
  let reconciled = 0
  let refusals = 0
  let closes = true
  const typing: Chat['typing'] = []
  const cleared: SentMessage[] = []
  let typingFails = false
  let said = 0

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = (await json(request)) as Call
    const answer = (value: unknown) => void response.end(JSON.stringify(value))
    const fail = () => void response.writeHead(500).end()
    if (request.url === '/connect') connect(call, { answer, fail })
    else if (request.url === '/send')
      send(call as unknown as Attempt, { answer, fail, tear: () => request.socket.destroy() })
    else if (request.url === '/reconcile') reconcile(call as unknown as UncertainMessage, { answer, fail })
    else if (request.url === '/remove-choices') removeChoices(call as unknown as SentMessage, { answer, fail })
    else if (request.url === '/typing') showTyping(call as unknown as TypingCall, { answer, fail })
    else if (request.url === '/next') {
      next(call, answer)
      // A reader that has disconnected must not receive the next message.
      response.once('close', () => void take(readers, ({ item }) => item === answer))
    } else if (request.url === '/received') received(call, answer)
    else if (request.url === '/close' && closes) close(call, answer)
  }

  function connect({ channel, accountId, config }: Call, { answer, fail }: Reply): void {
    if (refusals-- > 0) return fail()
    connected.push({ channel, accountId, config })
    open.add(`${channel} ${accountId}`)
    answer({})
  }

  function send(message: Attempt, { answer, fail, tear }: Reply & { tear: () => void }): void {
    const script = sends.shift()
    const known = message.channel === 'chat-native' && held.some(({ key }) => key === message.key)
    attempts.push(message)
    if (!known && (script === undefined || script === 'lose' || script === 'hang')) held.push(message)
    changes.dispatchEvent(new Event('change'))
    if (typeof script === 'object' && 'acceptAfterReconciles' in script)
      void awaitReconciles(script.acceptAfterReconciles).then(() => held.push(message))
    else if (script === undefined) answer({ outcome: 'sent', id: `id of ${message.key}` })
    else if (script === 'throw') fail()
    else if (typeof script === 'object') answer(script.answer)
    else if (script !== 'hang') tear()
  }

  function reconcile(message: UncertainMessage, { answer, fail }: Reply): void {
    const { key } = message
    asked.push(message)
    const script = reconciles.shift()
    const known = held.some((message) => message.key === key) ? 'sent' : 'absent'
    reconciled += 1
    changes.dispatchEvent(new Event('change'))
    if (script === 'fail') fail()
    else if (script !== 'hang') answer(script ?? known)
  }

  /** The names of recipients say what happens. */
  function removeChoices(message: SentMessage, { answer, fail }: Reply): void {
    cleared.push(message)
    changes.dispatchEvent(new Event('change'))
    if (message.to === 'fails') fail()
    else if (message.to !== 'hangs') answer({})
  }

  function showTyping({ to, on, route }: TypingCall, { answer, fail }: Reply): void {
    typing.push({ to, on, ...(route !== undefined && { route }), at: performance.now() })
    changes.dispatchEvent(new Event('change'))
    if (typingFails) fail()
    else answer({})
  }

  /** From now on, the account receives nothing. */
  function close({ channel, accountId }: Call, answer: (value: unknown) => void): void {
    open.delete(`${channel} ${accountId}`)
    take(readers, fitting({ channel, accountId }))
    answer({})
  }

  function next({ channel, accountId }: Call, answer: (value: unknown) => void): void {
    // An account may ask once more while it closes.
    if (!open.has(`${channel} ${accountId}`)) return
    const message = take(inboxes, fitting({ channel, accountId }))
    if (message) answer(message)
    else readers.push({ channel, accountId, item: answer })
  }

  function received({ id, result }: Call, answer: (value: unknown) => void): void {
    results.get(id)?.(result)
    answer({})
  }

  function say(message: SaidMessage, channel: Name = 'chat-native', accountId?: string): Promise<string> {
    const whole = { id: `m${said++}`, from: { id: 'ann' }, to: 'ann', text: 'Hi.', ...message }
    return new Promise((resolve) => {
      results.set(whole.id, resolve)
      const answer = take(readers, fitting({ channel, accountId }))
      if (answer) answer(whole)
      else inboxes.push({ channel, accountId, item: whole })
    })
  }

  async function awaitReconciles(count: number): Promise<void> {
    while (reconciled < count) await once(changes, 'change')
  }

  const reach = async <Item extends { to: string }>(list: Item[], count: number, recipient?: string) => {
    const reached = () => (recipient === undefined ? list : list.filter(({ to }) => to === recipient))
    while (reached().length < count) await once(changes, 'change')
    return reached()
  }

  const chat: Omit<Chat, 'config'> = {
    held,
    attempts,
    connected,
    asked,
    attempted: (count) => reach(attempts, count),
    holds: (count, to) => reach(held, count, to),
    script: (...answers) => void sends.push(...answers),
    scriptReconcile: (...answers) => void reconciles.push(...answers),
    refuse: (connections) => {
      refusals = connections
    },
    cleared,
    typing,
    typed: (count, to) => reach(typing, count, to),
    failTyping: () => {
      typingFails = true
    },
    hangOnClose: () => {
      closes = false
    },
    say,
    move: (...moved) => say({ moved }),
    sayTo: (accountId, message) => say(message, 'chat-native', accountId),
  }
  return { chat, serve }
}

/** A message without an account is for any of them. */
interface Waiting<Item> {
  channel: Name
  accountId?: string | undefined
  item: Item
}

type Place = Pick<Waiting<unknown>, 'channel' | 'accountId'>

const fitting =
  (wanted: Place) =>
  ({ channel, accountId }: Place): boolean =>
    channel === wanted.channel &&
    (wanted.accountId === undefined || accountId === undefined || accountId === wanted.accountId)

/** Removes the first that fits. */
function take<Item>(list: Waiting<Item>[], fits: (one: Waiting<Item>) => boolean): Item | undefined {
  const index = list.findIndex(fits)
  return index === -1 ? undefined : list.splice(index, 1)[0]?.item
}

interface Reply {
  answer: (value: unknown) => void
  fail: () => void
}
