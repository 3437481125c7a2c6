// A double of the chat server on a loopback address. It keeps messages, and can fail or limit the rate.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Platform } from 'svc-gateway/testing'

interface Settings {
  url: string
  token: string
}

interface Sent {
  to: string
  text: string
}

type Fault = 'lost' | { retryAfterMs: number } | { status: number }

export async function openChatServer(): Promise<Platform<Settings>> {
  const said: object[] = []
  const sent = new Map<unknown, Sent>()
  const waiting = new Set<() => void>()
  let fault: Fault | undefined

  function deliver(request: IncomingMessage, response: ServerResponse): void {
    const after = Number(new URL(request.url ?? '', 'http://chat').searchParams.get('after'))
    const answer = (): void => void response.end(JSON.stringify(said.slice(after)))
    if (said.length > after) return answer()
    waiting.add(answer)
    response.once('close', () => waiting.delete(answer))
  }

  async function accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { conversation, text } = (await json(request)) as { conversation: string; text: string }
    const current = fault
    fault = undefined
    if (typeof current === 'object' && 'retryAfterMs' in current)
      return void response.writeHead(429, { 'retry-after': String(current.retryAfterMs / 1000) }).end()
    const status = typeof current === 'object' ? current.status : 200
    if (status === 400) return void response.writeHead(status).end()
    sent.set(request.headers['idempotency-key'], { to: conversation, text })
    if (current === 'lost') request.socket.destroy()
    else response.writeHead(status).end('{}')
  }

  const server = createServer((request, response) => {
    if (request.headers.authorization !== 'Bearer token-of-the-bot') response.writeHead(401).end()
    else if (request.method === 'POST') void accept(request, response)
    else if (request.url === '/account') response.end('{"name":"bot"}')
    else deliver(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    config: { url, token: 'token-of-the-bot' },
    badConfig: { url, token: 'another-token' },
    to: 'support-17',
    messages: async () => [...sent.values()],
    async say(text) {
      said.push({ number: said.length + 1, author: { id: 'u1', name: 'Ada' }, conversation: 'support-17', text })
      for (const answer of waiting) answer()
    },
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
