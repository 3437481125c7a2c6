// A double of signal-cli's HTTP daemon: JSON-RPC, and the stream of incoming messages.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { Platform, SaidFile } from '../contracts.ts'

interface Config {
  account: string
  httpUrl: string
}

type Fields = Record<string, unknown>

/** What happens to the next call of a method. */
export type Fault =
  | { error: { code: number; message: string; data?: unknown } }
  | { result: unknown }
  | { status: number }
  /** Done, and answered with this status nevertheless. */
  | { statusAfter: number }
  /** The message is accepted, but the connection breaks before the answer. */
  | 'lose'
  /** The connection breaks before the message is accepted. */
  | 'drop'
  /** Never answered. */
  | 'hang'

export interface SignalDouble extends Platform<Config> {
  config: Config
  badConfig: Config
  group: string
  /** The parameters of every accepted call, by method. */
  calls(method: string): Fields[]
  /** Resolves with the parameters of this call (from 0) of a method when it has arrived. */
  call(method: string, index: number): Promise<Fields>
  failNext(method: string, fault: Fault): void
  /** Sends an event of the stream: an envelope, or any other text. Resolves when a client has it. */
  emit(event: object | string): Promise<void>
  /** Writes bytes as they are. */
  write(bytes: string | Uint8Array): void
  say(text: string, message?: Fields): Promise<void>
  sayInGroup(text: string, options: { mentioned: boolean }): Promise<void>
  echo(text: string): Promise<void>
  disconnect(): Promise<void>
  /** Resolves when this many clients in total have opened the stream. */
  opened(count: number): Promise<void>
  /** The `Last-Event-ID` of each client that opened the stream. */
  lastEventIds: (string | undefined)[]
  /** In base64, or the bytes as a stream. */
  files: Map<string, string | (() => Readable)>
}

const account = '+15550000001'
const accountUuid = '00000000-0000-4000-8000-000000000001'
const ann = { source: '+15551112222', sourceNumber: '+15551112222', sourceName: 'Ann', sourceDevice: 1 }
const annUuid = '00000000-0000-4000-8000-000000000002'
const group = 'Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI='

const groupInfo = { groupId: group, groupName: 'Team', revision: 3, type: 'DELIVER' }

type Answer = { error: { code: number; message: string; data?: unknown } } | { result: unknown }

/** The parameters that signal-cli knows. The double refuses others, so that a wrong name fails a test. */
const methods: Record<string, readonly string[]> = {
  listAccounts: [],
  send: ['recipient', 'groupId', 'message', 'attachments', 'textStyle'],
  sendTyping: ['recipient', 'groupId', 'stop'],
  getAttachment: ['id', 'recipient', 'groupId'],
  startLink: [],
  listDevices: [],
  deleteLocalAccountData: [],
  finishLink: ['deviceLinkUri', 'deviceName'],
}

interface Options {
  /** Whether events have ids, so that a client can continue where it was. */
  hasIds?: boolean
  /** Whether the daemon was started with `-a`: it serves one account and has no methods about accounts. */
  isSingle?: boolean
  /** Accounts that are linked. */
  accounts?: string[]
}

export async function openSignal(options: Options = {}): Promise<SignalDouble> {
  const { hasIds = false, isSingle = false, accounts = [account] } = options
  const changes = new EventTarget()
  const changed = () => void changes.dispatchEvent(new Event('change'))
  const calls: { method: string; params: Fields }[] = []
  const faults = new Map<string, Fault[]>()
  const events: string[] = []
  const clients = new Set<ServerResponse>()
  const lastEventIds: SignalDouble['lastEventIds'] = []
  const unexpected: string[] = []
  const files: SignalDouble['files'] = new Map()
  let delivered = 0
  let clock = 1_700_000_000_000
  let person: Fields = ann
  let last: Fields = {}

  function refuse(what: string): void {
    unexpected.push(what)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    if (url.pathname === '/api/v1/rpc' && request.method === 'POST') return await serveCall(request, response)
    if (url.pathname === '/api/v1/events' && request.method === 'GET') return stream(url, request, response)
    refuse(`${request.method} ${request.url}`)
    response.writeHead(404).end()
  }

  async function serveCall(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.headers['content-type']?.startsWith('application/json')) {
      refuse('a call without the content type application/json')
      return void response.writeHead(415).end()
    }
    const { id, method, params } = (await json(request)) as { id: unknown; method: string; params: Fields }
    const fault = faults.get(method)?.shift()
    if (fault === 'drop') return void request.socket.destroy()
    if (typeof fault === 'object' && 'status' in fault) return void response.writeHead(fault.status).end()
    const stream = method === 'getAttachment' ? files.get(String(params['id'])) : undefined
    if (typeof stream === 'function') return void pipeline(streamAnswer(stream(), id), response).catch(() => undefined)
    const statusAfter = typeof fault === 'object' && 'statusAfter' in fault ? fault.statusAfter : undefined
    const answer = typeof fault === 'object' && !('statusAfter' in fault) ? fault : run(method, params)
    if ('result' in answer) calls.push({ method, params })
    changed()
    if (statusAfter !== undefined) return void response.writeHead(statusAfter).end()
    if (fault === 'hang') return
    if (fault === 'lose') return void request.socket.destroy()
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', ...answer, id }))
  }

  function run(method: string, { account: named, ...params }: Fields): Answer {
    const known = methods[method]
    const isAboutAccounts = ['listAccounts', 'startLink', 'finishLink', 'deleteLocalAccountData'].includes(method)
    if (!known || (isSingle && isAboutAccounts)) {
      if (!known) refuse(`the method ${method}`)
      return { error: { code: -32601, message: 'Method not implemented' } }
    }
    for (const name of Object.keys(params)) if (!known.includes(name)) refuse(`the parameter ${name} of ${method}`)
    if (!isAboutAccounts && !isSingle && !accounts.includes(String(named)))
      return { error: { code: -32602, message: 'Specified account does not exist' } }
    return answerOf(method, params)
  }

  function answerOf(method: string, params: Fields): Answer {
    if (method === 'listDevices') return { result: [{ id: 1 }, { id: 2 }] }
    if (method === 'listAccounts') return { result: accounts.map((number) => ({ number })) }
    if (method === 'startLink') return { result: { deviceLinkUri: `sgnl://linkdevice?uuid=${++clock}&pub_key=Y` } }
    if (method === 'finishLink') return { result: { number: account } }
    if (method === 'getAttachment') {
      const data = files.get(String(params['id']))
      return typeof data !== 'string'
        ? { error: { code: -1, message: 'Could not find attachment' } }
        : { result: { data } }
    }
    const results = [{ recipientAddress: { number: '+1' }, type: 'SUCCESS' }]
    return { result: { timestamp: ++clock, results } }
  }

  function stream(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const named = url.searchParams.get('account')
    if (!isSingle && named !== null && !accounts.includes(named)) return void response.writeHead(400).end()
    const last = request.headers['last-event-id'] as string | undefined
    lastEventIds.push(last)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    response.write(':\n')
    clients.add(response)
    response.once('close', () => clients.delete(response))
    // With ids, what a client has not confirmed comes again. Without ids, only what has waited at Signal comes.
    const unconfirmed = last === undefined ? 0 : Number(last) + 1
    for (const event of events.slice(hasIds ? unconfirmed : delivered)) response.write(event)
    delivered = events.length
    changed()
  }

  async function emit(event: object | string): Promise<void> {
    const data = typeof event === 'string' ? event : JSON.stringify(event)
    const text = `${hasIds ? `id:${events.length}\n` : ''}event:receive\ndata:${data}\n\n`
    events.push(text)
    if (clients.size === 0) return
    delivered = events.length
    await Promise.all(Array.from(clients, (client) => writeTo(client, text)))
  }

  const emitMessage = (message: Fields) => {
    const timestamp = ++clock
    const dataMessage = { timestamp, expiresInSeconds: 0, viewOnce: false, ...message }
    last = message
    return emit({ account, envelope: { ...person, sourceUuid: annUuid, timestamp, dataMessage } })
  }

  /** Stores a file, and returns what the message says about it. */
  function keepFile({ name, type, size, content }: SaidFile): Fields {
    files.set(name, content)
    return { id: name, filename: name, contentType: type, size }
  }

  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const httpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const failNext = (method: string, fault: Fault) => void faults.set(method, [...(faults.get(method) ?? []), fault])
  const callsOf = (method: string) => calls.filter((call) => call.method === method).map(({ params }) => params)

  return {
    config: { account, httpUrl },
    badConfig: { account: '+15559999999', httpUrl },
    to: ann.sourceNumber,
    group,
    files,
    lastEventIds,
    calls: callsOf,
    call: async (method, index) => {
      while (!callsOf(method)[index]) await once(changes, 'change')
      return callsOf(method)[index]!
    },
    messages: async () =>
      callsOf('send').map(({ recipient, groupId, message, attachments, previewUrl }) => ({
        to: String((recipient as string[] | undefined)?.[0] ?? groupId),
        text: String(message),
        fetches: typeof previewUrl === 'string' ? [previewUrl] : [],
        file: readDataUri((attachments as string[] | undefined)?.[0]),
      })),
    failNext,
    emit,
    write: (bytes) => clients.forEach((client) => void client.write(bytes)),
    say: (text, message = {}) => emitMessage({ message: text, ...message }),
    rename: async (name) => void (person = { ...person, sourceName: name }),
    // `JsonMessageEnvelope`: the number is null if signal-cli does not know it.
    hideId: async () => void (person = { ...person, source: annUuid, sourceNumber: null }),
    // `JsonQuote` of signal-cli. The apps put the text of the quoted message into the quote.
    answer: (text, original) => {
      const own = { id: clock, author: account, authorNumber: account, authorUuid: accountUuid, attachments: [] }
      if (original === 'own')
        return emitMessage({ message: text, quote: { ...own, text: callsOf('send').at(-1)?.['message'] } })
      const quote = { id: clock, author: ann.source, authorNumber: ann.source, authorUuid: annUuid, attachments: [] }
      const mentions = [{ name: account, number: account, uuid: accountUuid, start: 0, length: 1 }]
      return emitMessage({
        message: `\u{FFFC} ${text}`,
        groupInfo,
        mentions,
        quote: { ...quote, text: last['message'] },
      })
    },
    edit: (text) => {
      const timestamp = ++clock
      const dataMessage = { ...last, timestamp, message: text, expiresInSeconds: 0, viewOnce: false }
      const editMessage = { targetSentTimestamp: timestamp - 1, dataMessage }
      return emit({ account, envelope: { ...ann, sourceUuid: annUuid, timestamp, editMessage } })
    },
    sayWithFile: (text, file, place) =>
      emitMessage({ message: text, attachments: [keepFile(file)], ...(place && { groupInfo }) }),
    sayWithFiles: (text, all) => emitMessage({ message: text, attachments: all.map(keepFile) }),
    sayInGroup: (text, { mentioned }) =>
      emitMessage({
        message: mentioned ? `\u{FFFC} ${text}` : text,
        groupInfo,
        ...(mentioned && { mentions: [{ name: account, number: account, uuid: accountUuid, start: 0, length: 1 }] }),
      }),
    echo: (text) => {
      const timestamp = ++clock
      const own = { source: account, sourceNumber: account, sourceUuid: accountUuid, sourceName: 'Gateway', timestamp }
      const sentMessage = { destinationNumber: ann.sourceNumber, timestamp, message: text, expiresInSeconds: 0 }
      return emit({ account, envelope: { ...own, sourceDevice: 1, syncMessage: { sentMessage } } })
    },
    async disconnect() {
      for (const client of clients) client.destroy()
      clients.clear()
    },
    opened: async (count) => {
      while (lastEventIds.length < count) await once(changes, 'change')
    },
    answerNext: (status) => failNext('send', status === 500 ? { statusAfter: status } : { status }),
    loseNextAnswer: () => failNext('send', 'lose'),
    limitNext: (retryAfterMs) =>
      failNext('send', {
        error: {
          code: -5,
          message: 'Failed to send message due to rate limiting',
          data: { response: { results: [{ type: 'RATE_LIMIT_FAILURE', retryAfterSeconds: retryAfterMs / 1000 }] } },
        },
      }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length > 0) throw new Error(`the double of signal-cli refused: ${unexpected.join(', ')}`)
    },
  }
}

/** Resolves when the client has it, or is gone. */
const writeTo = (client: ServerResponse, text: string) =>
  new Promise<void>((resolve) => {
    const done = () => {
      client.off('close', done)
      resolve()
    }
    client.once('close', done).write(text, done)
  })

function readDataUri(uri: string | undefined): { name: string; content: Uint8Array } | undefined {
  const [, name = '', data = ''] = /^data:[^;]+;filename=([^;]+);base64,(.*)$/.exec(uri ?? '') ?? []
  return uri === undefined ? undefined : { name: decodeURIComponent(name), content: Buffer.from(data, 'base64') }
}

/** Three bytes are four characters of base64, so a chunk whose length is a multiple of three can be encoded alone. */
async function* streamAnswer(content: AsyncIterable<Uint8Array>, id: unknown) {
  yield '{"jsonrpc":"2.0","result":{"data":"'
  for await (const chunk of content) yield Buffer.from(chunk).toString('base64')
  yield `"},"id":${JSON.stringify(id)}}`
}
