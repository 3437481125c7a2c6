// A loopback server for model doubles: it scripts responses, records requests, and fails on unexpected ones.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProviderAnswer } from '../contracts/provider-checks.ts'

/** The response to the next request. */
export type Answer =
  /** With `pauseMs`, it pauses so long before each part. With `parts`, the text is streamed in these parts. */
  | { text: string; thinking?: string; pauseMs?: number; parts?: readonly string[]; ends?: Ending }
  /** With `text`, the model writes it before the call. */
  | { tool: string; args: unknown; id?: string; text?: string }
  /** Several tool calls in one step. */
  | { calls: readonly { tool: string; args: unknown }[] }
  /** Tool arguments that are not valid JSON. */
  | { tool: string; rawArgs: string; id?: string }
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** Sends this with the status 200, as it is. Then the response ends. */
  | { raw: string; type?: string }
  /** Sends the stream of a text, with these events before its end. */
  | { text: string; events: readonly string[] }
  /** Sends `text`, if any, and then hangs. */
  | { hang: true; text?: string }
  /** Sends `text` and ends the stream without its final event. */
  | { truncate: true; text: string }
  /** Sends `text` and closes the connection. */
  | { drop: true; text?: string }

/** Why an answer ends early: it reached a limit, or the service filtered it. */
export type Ending = 'cut' | 'filtered'

export interface WireRequest {
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
  /** Resolves when the client disconnects before the response is complete. */
  abandoned: Promise<void>
}

export interface Wire {
  /** `http://127.0.0.1:<port>`. */
  url: string
  requests: WireRequest[]
  /** Appends responses, one for each further request. */
  script(...answers: Answer[]): void
  /** Sets the response to requests for which none is scripted, or a function that creates it. */
  otherwise(answer: Answer | ((request: WireRequest) => Answer)): void
  /** Resolves with the request of this number (from 0) when it has arrived. */
  request(index: number): Promise<WireRequest>
  /** Closes every connection, including those that hang. */
  tear(): void
  /** Rejects when an unexpected request has arrived. */
  close(): Promise<void>
}

export interface Dialect {
  /** The paths that the double answers. */
  path: RegExp
  /** Renders the stream of a response; `end` are the events that complete it. */
  stream(answer: Answer, request: WireRequest): { events: string[]; end: string[] }
  /** Why the service refuses a request, if it does. */
  refuse?(request: WireRequest): Refusal | undefined
  /** The answer to a request that asks for no stream. */
  whole?(answer: Answer, request: WireRequest): unknown
}

interface Refusal {
  status: number
  body: unknown
}

export async function startWire(dialect: Dialect): Promise<Wire> {
  const requests: WireRequest[] = []
  const answers: Answer[] = []
  const unexpected: string[] = []
  let fallback: Answer | ((request: WireRequest) => Answer) | undefined
  const arrivals = new EventTarget()

  const server = createServer((incoming, response) => void serve(incoming, response))

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse((await incoming.toArray()).join('') || '{}') as Record<string, unknown>
    const abandoned = new Promise<void>((resolve) => {
      response.once('close', () => response.writableFinished || resolve())
    })
    const request = { path: incoming.url ?? '', headers: incoming.headers, body, abandoned }
    const answer = dialect.path.test(request.path)
      ? (dialect.refuse?.(request) ??
        answers.shift() ??
        (typeof fallback === 'function' ? fallback(request) : fallback))
      : undefined
    if (!answer) {
      unexpected.push(`${incoming.method} ${request.path}`)
      response.writeHead(404).end('nothing is scripted for this request')
      return
    }
    requests.push(request)
    arrivals.dispatchEvent(new Event('request'))
    const asksForStream = body['stream'] === true || /stream/i.test(request.path)
    if (asksForStream || !dialect.whole) return await reply(response, answer, dialect.stream(answer, request))
    await reply(response, 'status' in answer ? answer : { status: 200, body: dialect.whole(answer, request) }, noEvents)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script: (...more) => void answers.push(...more),
    otherwise: (answer) => void (fallback = answer),
    request: async (index) => {
      while (!requests[index]) await once(arrivals, 'request')
      return requests[index]
    },
    tear: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length) throw new Error(`the double got requests that are not scripted: ${unexpected.join(', ')}`)
    },
  }
}

const noEvents = { events: [], end: [] }

/** The answer that the suite of providers asks for. */
export function answerFor(asked: ProviderAnswer): Answer {
  if ('tool' in asked) return { tool: asked.tool, rawArgs: asked.args }
  if ('status' in asked) {
    const body = { error: { message: 'It cannot be done.' } }
    return { status: asked.status, headers: { 'retry-after': String(asked.retryAfterSeconds) }, body }
  }
  if (asked.breaks) return { drop: true, text: asked.text }
  return asked.hangs ? { hang: true, text: asked.text } : { text: asked.text }
}

async function reply(
  response: ServerResponse,
  answer: Answer,
  { events, end }: { events: string[]; end: string[] },
): Promise<void> {
  if ('status' in answer) {
    response
      .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      .end(JSON.stringify(answer.body ?? {}))
    return
  }
  if ('raw' in answer) {
    response.writeHead(200, { 'content-type': answer.type ?? 'text/event-stream' }).end(answer.raw)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const event of 'events' in answer ? [...events, ...answer.events] : events) {
    if ('pauseMs' in answer) await delay(answer.pauseMs)
    response.write(event)
  }
  if ('hang' in answer) return
  if ('drop' in answer) {
    response.write('', () => response.destroy())
    return
  }
  for (const event of 'truncate' in answer ? [] : end) response.write(event)
  response.end()
}

/** Returns the text of a response. */
export const textOf = (answer: Answer): string => ('text' in answer ? (answer.text ?? '') : '')

export const argumentsOf = (answer: Extract<Answer, { tool: string }>): string =>
  'rawArgs' in answer ? answer.rawArgs : JSON.stringify(answer.args)

/** The parts in which a service streams the text of an answer. */
export const textParts = (answer: Answer): readonly string[] =>
  'parts' in answer && answer.parts ? answer.parts : splitText(textOf(answer))

export const endingOf = (answer: Answer): Ending | undefined => ('ends' in answer ? answer.ends : undefined)

/** Splits a text into parts, as a service streams it. */
export function splitText(text: string, count = 3): string[] {
  const size = Math.max(1, Math.ceil(text.length / count))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  )
}

export const dataEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const namedEvent = (value: { type: string }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
