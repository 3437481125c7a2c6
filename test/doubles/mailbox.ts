// A small chat service on loopback: messages are posted, and read by long polling from a number on.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Platform } from '../contracts.ts'
import { type FileContent, sendContent } from './file-content.ts'

export interface MailboxConfig {
  url: string
  token: string
}

/** An entry of the feed, which also has the messages of the account itself. */
export interface Entry {
  number: number
  from: string
  text: string
  group?: boolean
  mentioned?: boolean
  files?: { name: string; type: string; size: number; path: string }[]
}

const token = 'mailbox-token-0123456789'

export async function openMailbox(): Promise<Platform<MailboxConfig>> {
  const feed: Entry[] = []
  const sent: { to: string; text: string }[] = []
  const polls: ServerResponse[] = []
  const files = new Map<string, FileContent>()
  const changes = new EventTarget()
  let next: 'lose' | number | undefined

  const add = (entry: Omit<Entry, 'number'>) => {
    feed.push({ number: feed.length + 1, ...entry })
    changes.dispatchEvent(new Event('change'))
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end()
    if (request.method === 'POST') return accept((await json(request)) as (typeof sent)[number], response)
    if (request.url === '/account') return void response.end()
    const content = files.get(request.url ?? '')
    if (content) return sendContent(response, content)
    const after = Number(new URL(request.url ?? '', 'http://mailbox').searchParams.get('after'))
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    polls.push(response)
    changes.dispatchEvent(new Event('poll'))
    while (feed.length <= after && !gone.signal.aborted)
      await once(changes, 'change', { signal: gone.signal }).catch(() => undefined)
    response.end(JSON.stringify(feed.slice(after)))
  }

  function accept(message: (typeof sent)[number], response: ServerResponse): void {
    const fault = next
    next = undefined
    if (typeof fault === 'number') return void response.writeHead(429, { 'retry-after': String(fault / 1000) }).end()
    sent.push(message)
    add({ from: 'me', text: message.text })
    if (fault === 'lose') response.destroy()
    else response.end()
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
    say: async (text) => add({ from: 'ann', text }),
    sayInGroup: async (text, { mentioned }) => add({ from: 'ann', text, group: true, mentioned }),
    async sayWithFile(text, { content, ...file }) {
      const path = `/files/${files.size}`
      files.set(path, content)
      add({ from: 'ann', text, files: [{ ...file, path }] })
    },
    echo: async (text) => add({ from: 'me', text }),
    async disconnect() {
      while (!polls.some(isOpen)) await once(changes, 'poll')
      for (const poll of polls) poll.destroy()
    },
    loseNextAnswer: () => void (next = 'lose'),
    limitNext: (ms) => void (next = ms),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const isOpen = (response: ServerResponse) => !response.writableEnded && !response.destroyed
