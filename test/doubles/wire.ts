// A loopback server that a model double is made of: scripted answers, recorded requests, nothing unexpected goes
// unnoticed.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the next request gets. */
export type Answer =
  | { text: string; thinking?: string }
  | { tool: string; args: unknown; id?: string }
  /** Several calls in one step. */
  | { calls: readonly { tool: string; args: unknown }[] }
  /** Arguments that are no JSON. */
  | { tool: string; rawArgs: string; id?: string }
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** Says `text`, if any, and then nothing more. */
  | { hang: true; text?: string }
  /** Says `text` and ends the stream as if that were all, without its finish. */
  | { truncate: true; text: string }
  /** Says `text` and tears the connection. */
  | { drop: true; text?: string }

export interface WireRequest {
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
  /** Resolves when the client leaves before the answer is complete. */
  abandoned: Promise<void>
}

export interface Wire {
  /** `http://127.0.0.1:<port>`. */
  url: string
  requests: WireRequest[]
  /** Appends answers, one for each request to come. */
  script(...answers: Answer[]): void
  /** The answer to every request for which none is scripted, or what makes it from the request. */
  otherwise(answer: Answer | ((request: WireRequest) => Answer)): void
  /** Resolves with the request of this number (from 0) as soon as it has come. */
  request(index: number): Promise<WireRequest>
  /** Tears every connection, those that hang too. */
  tear(): void
  /** Rejects when something came that was not expected. */
  close(): Promise<void>
}

export interface Dialect {
  /** The only paths that it answers. */
  path: RegExp
  /** The stream that says this; a complete one also says that it is complete. */
  stream(answer: Answer, request: WireRequest): { events: string[]; end: string[] }
}

export async function startWire(dialect: Dialect): Promise<Wire> {
  const requests: WireRequest[] = []
  const answers: Answer[] = []
  const unexpected: string[] = []
  let usual: Answer | ((request: WireRequest) => Answer) | undefined
  const arrivals = new EventTarget()

  const server = createServer((incoming, response) => void serve(incoming, response))

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse((await incoming.toArray()).join('') || '{}') as Record<string, unknown>
    const abandoned = new Promise<void>((resolve) => {
      response.once('close', () => response.writableFinished || resolve())
    })
    const request = { path: incoming.url ?? '', headers: incoming.headers, body, abandoned }
    const answer = dialect.path.test(request.path)
      ? (answers.shift() ?? (typeof usual === 'function' ? usual(request) : usual))
      : undefined
    if (!answer) {
      unexpected.push(`${incoming.method} ${request.path}`)
      response.writeHead(404).end('nothing is scripted for this request')
      return
    }
    requests.push(request)
    arrivals.dispatchEvent(new Event('request'))
    reply(response, answer, dialect.stream(answer, request))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script: (...more) => void answers.push(...more),
    otherwise: (answer) => void (usual = answer),
    request: async (index) => {
      while (!requests[index]) await once(arrivals, 'request')
      return requests[index]
    },
    tear: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length) throw new Error(`the double got requests that nobody scripted: ${unexpected.join(', ')}`)
    },
  }
}

function reply(response: ServerResponse, answer: Answer, { events, end }: { events: string[]; end: string[] }): void {
  if ('status' in answer) {
    response
      .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      .end(JSON.stringify(answer.body ?? {}))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const event of events) response.write(event)
  if ('hang' in answer) return
  if ('drop' in answer) {
    response.write('', () => response.destroy())
    return
  }
  for (const event of 'truncate' in answer ? [] : end) response.write(event)
  response.end()
}

/** What an answer says in words. */
export const textOf = (answer: Answer): string => ('text' in answer ? (answer.text ?? '') : '')

export const argumentsOf = (answer: Extract<Answer, { tool: string }>): string =>
  'rawArgs' in answer ? answer.rawArgs : JSON.stringify(answer.args)

/** In pieces, as a service streams it. */
export function pieces(text: string, count = 3): string[] {
  const size = Math.max(1, Math.ceil(text.length / count))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  )
}

export const dataEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const namedEvent = (value: { type: string }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
