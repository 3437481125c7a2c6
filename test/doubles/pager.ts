// A double of a pager service, which accepts messages by POST and drops repeated idempotency keys.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Platform } from '../contracts.ts'

interface Message {
  to: string
  text: string
}

/** @param token The required bearer token. Absent: none is required. */
export async function openPagerService({ token }: { token?: string } = {}): Promise<Platform<unknown>> {
  const messages = new Map<unknown, Message>()
  let next: { answer: 'lost' } | { answer: 'status'; status: number } | { answer: 'wait'; ms: number } | undefined
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const message = (await json(request)) as Message
    const fault = next
    next = undefined
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end()
    if (fault?.answer === 'wait') return response.writeHead(429, { 'retry-after': String(fault.ms / 1000) }).end()
    if (fault?.answer === 'status' && fault.status !== 500) return response.writeHead(fault.status).end()
    messages.set(request.headers['idempotency-key'], message)
    if (fault?.answer === 'status') return response.writeHead(fault.status).end()
    return fault ? request.socket.destroy() : response.end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    config: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ...(token && { token }) },
    to: 'ops',
    messages: async () => [...messages.values()],
    loseNextAnswer: () => void (next = { answer: 'lost' }),
    answerNext: (status) => void (next = { answer: 'status', status }),
    limitNext: (ms) => void (next = { answer: 'wait', ms }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
