// A double of the chat server on a loopback address. It keeps messages, and can fail or limit the rate.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { Platform, SaidFile } from 'svc-gateway/testing'

interface Settings {
  url: string
  token: string
}

interface Sent {
  to: string
  text: string
  threadId?: string
}

interface Posted {
  conversation: string
  text: string
  thread?: number
}

/** Where somebody writes, unless it is to the bot alone. */
const places = { group: { conversation: 'room-1', mentionsBot: false }, thread: { thread: 1 } }

type Fault = 'lost' | { retryAfterMs: number } | { status: number }

export async function openChatServer(): Promise<Platform<Settings>> {
  const said: object[] = []
  const author: { id: string; name: string; phone?: string } = { id: 'u1', name: 'Ada', phone: '+15550001111' }
  const sent = new Map<unknown, Sent>()
  const files: SaidFile[] = []
  /** Where the next download is redirected to. A blank address is the same. */
  let redirect: string | undefined
  const waiting = new Set<() => void>()
  let fault: Fault | undefined

  function deliver(request: IncomingMessage, response: ServerResponse): void {
    const after = Number(new URL(request.url ?? '', 'http://chat').searchParams.get('after'))
    const answer = (): void => void response.end(JSON.stringify(said.slice(after)))
    if (said.length > after) return answer()
    waiting.add(answer)
    response.once('close', () => waiting.delete(answer))
  }

  function say(fields: object): void {
    said.push({ conversation: 'support-17', ...fields, number: said.length + 1, author: { ...author } })
    for (const answer of waiting) answer()
  }

  async function accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { conversation: to, text, thread } = (await json(request)) as Posted
    const current = fault
    fault = undefined
    if (typeof current === 'object' && 'retryAfterMs' in current)
      return void response.writeHead(429, { 'retry-after': String(current.retryAfterMs / 1000) }).end()
    const status = typeof current === 'object' ? current.status : 200
    if (status !== 200 && status !== 500) return void response.writeHead(status).end()
    const threadId = thread === undefined ? {} : { threadId: String(thread) }
    sent.set(request.headers['idempotency-key'], { to, text, ...threadId })
    if (current === 'lost') request.socket.destroy()
    else response.writeHead(status).end('{}')
  }

  /** Stores a file, and returns what the message says about it. */
  function keepFile(file: SaidFile) {
    const { name, type, size } = file
    return { id: String(files.push(file) - 1), name, type, size }
  }

  /** Passes an error of the file on, by which its reader sees that it is not whole. */
  function serve(file: SaidFile | undefined, response: ServerResponse): void {
    const location = redirect
    redirect = undefined
    if (location !== undefined) response.writeHead(302, { location }).end()
    else if (file) pipeline(file.content(), response, () => undefined)
    else response.writeHead(404).end()
  }

  const server = createServer((request, response) => {
    if (request.headers.authorization !== 'Bearer token-of-the-bot') response.writeHead(401).end()
    else if (request.method === 'POST') void accept(request, response)
    else if (request.url === '/account') response.end('{"name":"bot"}')
    else if (request.url?.startsWith('/files/')) serve(files[Number(request.url.slice(7))], response)
    else deliver(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    config: { url, token: 'token-of-the-bot' },
    badConfig: { url, token: 'another-token' },
    to: 'support-17',
    messages: async () => [...sent.values()],
    say: async (text) => say({ text }),
    rename: async (name) => void (author.name = name),
    edit: async (text) => say({ ...said.at(-1), text, replaces: said.length }),
    sayInThread: async (text) => say({ text, ...places.thread }),
    sayInGroup: async (text, { mentioned, inThread }) =>
      say({
        ...places.group,
        ...(inThread && places.thread),
        text: mentioned ? `@bot ${text}` : text,
        mentionsBot: mentioned,
      }),
    answer: async (text, original) =>
      original === 'own'
        ? say({
            text,
            answers: { author: { id: 'bot', name: 'bot' }, byBot: true, text: [...sent.values()].at(-1)?.text },
          })
        : say({ ...places.group, mentionsBot: true, text, answers: { author, byBot: false, ...textOf(said.at(-1)) } }),
    hideId: async () => void delete author.phone,
    forward: async (text) => say({ text, passedOnFrom: { name: 'Eve' } }),
    sayWithFile: async (text, file, place) => say({ text, files: [keepFile(file)], ...(place && places[place]) }),
    redirectNextDownload: (address = '') => void (redirect = address),
    sayWithFiles: async (text, all) => say({ text, files: all.map(keepFile) }),
    disconnect: () => server.closeAllConnections(),
    loseNextAnswer: () => void (fault = 'lost'),
    answerNext: (status) => void (fault = { status }),
    limitNext: (retryAfterMs) => void (fault = { retryAfterMs }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const textOf = (message: object | undefined): { text: unknown } => ({ text: (message as { text?: unknown })?.text })
