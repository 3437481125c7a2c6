// A small chat service on loopback: messages are posted, and read by long polling from a number on.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { AcceptedMessage, Platform, SaidFile } from '../contracts.ts'
import type { MessageChoice } from '../../core/plugin/plugin.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn, picturesIn } from './fetches.ts'

export interface MailboxConfig {
  url: string
  token: string
}

/** An entry of the feed, which also has the messages of the account itself. */
export interface Entry {
  number: number
  from: string
  /** The display name, which people choose. */
  name?: string
  text: string
  group?: boolean
  mentioned?: boolean
  thread?: string
  /** The choice that was picked, and the message below which it is. */
  picked?: MessageChoice & { message: string }
  /** The message that this one answers: one of the account, or an entry. */
  answers?: { message?: string; entry?: number; text: string }
  /** Who wrote the text that is passed on. */
  forwarded?: string
  /** An id that the service may show or not. */
  phone?: string
  /** The number of the entry whose text this one replaces. */
  edits?: number
  files?: { name: string; type: string; size: number; path: string }[]
}

/** What is posted. The bytes of a file are in base64. */
export interface Posted {
  to: string
  text: string
  /** By which the message can be found again. */
  key?: string
  thread?: string
  file?: { name: string; data: string }
  choices?: MessageChoice[]
  /** Whether the service shows previews of links. */
  previews?: boolean
}

const token = 'mailbox-token-0123456789'

export async function openMailbox(): Promise<Platform<MailboxConfig>> {
  const feed: Entry[] = []
  const sent: AcceptedMessage[] = []
  const keys = new Set<string>()
  let name = 'Ann'
  let asked: { to: string; choices: MessageChoice[]; message: string } | undefined
  const polls: ServerResponse[] = []
  const files = new Map<string, FileContent>()
  const redirects = createRedirects()
  const changes = new EventTarget()
  let next: 'lose' | { waitMs: number } | { status: number } | undefined

  const add = (entry: Omit<Entry, 'number'>) => {
    feed.push({ number: feed.length + 1, ...entry })
    changes.dispatchEvent(new Event('change'))
  }
  let phone: string | undefined = '+15550001'
  const say = (entry: Omit<Entry, 'number' | 'from' | 'name'>) =>
    add({ from: 'ann', name, ...(phone !== undefined && { phone }), ...entry })

  /** Stores a file, and returns what the message says about it. */
  function keepFile({ content, ...file }: SaidFile) {
    const path = `/files/${files.size}`
    files.set(path, content)
    return { ...file, path }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end()
    if (request.method === 'DELETE') return removeChoices(request, response)
    if (request.method === 'POST') return accept((await json(request)) as Posted, response)
    if (request.url === '/account') return void response.end()
    const key = /^\/sent\/(.+)$/.exec(request.url ?? '')?.[1]
    if (key !== undefined) return void response.writeHead(keys.has(key) ? 200 : 404).end()
    const content = files.get(request.url ?? '')
    if (content) return redirects.answer(request.url, response) ? undefined : sendContent(response, content)
    const after = Number(new URL(request.url ?? '', 'http://mailbox').searchParams.get('after'))
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    polls.push(response)
    changes.dispatchEvent(new Event('poll'))
    while (feed.length <= after && !gone.signal.aborted)
      await once(changes, 'change', { signal: gone.signal }).catch(() => undefined)
    response.end(JSON.stringify(feed.slice(after)))
  }

  function removeChoices({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const message = sent[Number(/^\/messages\/(\d+)\/choices$/.exec(url)?.[1])]
    if (message) delete message.choices
    response.writeHead(message ? 200 : 404).end()
  }

  function accept({ to, text, key, thread, file, choices, previews }: Posted, response: ServerResponse): void {
    const fault = next
    next = undefined
    const status = typeof fault === 'object' && 'status' in fault ? fault.status : 200
    if (typeof fault === 'object' && 'waitMs' in fault)
      return void response.writeHead(429, { 'retry-after': String(fault.waitMs / 1000) }).end()
    if (status !== 200 && status !== 500) return void response.writeHead(status).end()
    if (key !== undefined) keys.add(key)
    const content = file && { name: file.name, content: Buffer.from(file.data, 'base64') }
    const message = String(sent.length)
    const fetches = previews ? linksIn(text) : picturesIn(text)
    sent.push({ to, text, threadId: thread, fetches, file: content, choices: choices?.map(({ label }) => label) })
    if (choices) asked = { to, choices, message }
    add({ from: 'me', text })
    if (fault === 'lose') response.destroy()
    else response.writeHead(status).end(message)
  }

  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    config: { url, token },
    badConfig: { url, token: 'a-wrong-token-0123456789' },
    to: 'ann',
    messages: async () => sent,
    say: async (text) => say({ text }),
    hideId: async () => void (phone = undefined),
    answer: async (text, original) => {
      const { number, text: other = '' } = feed.findLast(({ group }) => group) ?? {}
      const message = String(sent.length - 1)
      if (original === 'own') say({ text, answers: { message, text: sent.at(-1)?.text ?? '' } })
      else say({ text, group: true, mentioned: true, answers: { ...(number && { entry: number }), text: other } })
    },
    forward: async (text) => say({ text, forwarded: 'Eve' }),
    rename: async (other) => void (name = other),
    edit: async (text) => {
      const { group, thread } = feed.at(-1) ?? {}
      say({ text, edits: feed.length, ...(group && { group }), ...(thread !== undefined && { thread }) })
    },
    sayInThread: async (text) => say({ text, thread: 't1' }),
    sayInGroup: async (text, { mentioned, inThread }) =>
      say({ text, group: true, mentioned, ...(inThread && { thread: 't2' }) }),
    sayWithFile: async (text, file, place) =>
      say({
        text,
        files: [keepFile(file)],
        ...(place === 'group' && { group: true }),
        ...(place === 'thread' && { thread: 't1' }),
      }),
    redirectNextDownload: redirects.redirectNextDownload,
    sayWithFiles: async (text, all) => say({ text, files: all.map(keepFile) }),
    async press(label) {
      const choice = asked?.choices.find((one) => one.label === label)
      if (!asked || !choice) throw new Error(`Nothing can be picked that says "${label}".`)
      const group = asked.to === 'room' && { group: true, mentioned: true }
      say({ text: '', picked: { ...choice, message: asked.message }, ...group })
    },
    echo: async (text) => add({ from: 'me', text }),
    async disconnect() {
      while (!polls.some(isOpen)) await once(changes, 'poll')
      for (const poll of polls) poll.destroy()
    },
    loseNextAnswer: () => void (next = 'lose'),
    limitNext: (waitMs) => void (next = { waitMs }),
    answerNext: (status) => void (next = { status }),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const isOpen = (response: ServerResponse) => !response.writableEnded && !response.destroyed
