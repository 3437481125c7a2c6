// Reads the stream of incoming messages (server-sent events).
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { AuthError } from 'svc-gateway/plugin'
import { endpointOf, refuseErrorStatus, StatusError } from './rpc.ts'

export interface ServerEvent {
  /** Only some versions of signal-cli send ids. */
  id: string | undefined
  data: string
}

/** signal-cli sends a comment every 15 seconds. After this silence the connection is dead. */
const silenceMs = 60_000
/** Longest event that is accepted, in UTF-16 code units. Messages are far shorter. */
const longestEvent = 8 * 1024 * 1024

/** Resolves when the stream is open. Older versions of signal-cli answer only with their first comment. */
export async function openEvents(
  { httpUrl, account }: { httpUrl: string; account: string },
  { lastEventId, signal }: { lastEventId: string | undefined; signal: AbortSignal },
): Promise<AsyncGenerator<ServerEvent>> {
  const url = endpointOf(httpUrl, 'events')
  url.searchParams.set('account', account)
  const silence = new AbortController()
  const response = await endIfSilent(silence, () =>
    fetch(url, {
      headers: { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
      signal: AbortSignal.any([signal, silence.signal]),
    }),
  )
  await refuseErrorStatus(response).catch((error: unknown) => {
    const isUnknownAccount = error instanceof StatusError && error.response.status === 400
    throw isUnknownAccount ? notLinked(account) : error
  })
  if (!response.body) throw new Error('signal-cli answered without a stream of messages.')
  return readEvents(response.body, silence)
}

export const notLinked = (account: string): AuthError =>
  new AuthError(`signal-cli has no account ${account}. Log in, or link it with signal-cli.`)

async function* readEvents(body: ReadableStream<Uint8Array>, silence: AbortController): AsyncGenerator<ServerEvent> {
  const events = ReadableStream.from(readChunks(body, silence))
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: longestEvent }))
  // An id with other characters could not be sent back as a header.
  for await (const { id = '', data } of events) yield { id: /^[\x21-\x7e]{1,100}$/.test(id) ? id : undefined, data }
}

async function* readChunks(body: ReadableStream<Uint8Array>, silence: AbortController) {
  const reader = body.getReader()
  try {
    while (true) {
      const { done, value } = await endIfSilent(silence, () => reader.read())
      if (done) return
      yield value as Uint8Array<ArrayBuffer>
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Aborts the request if `work` takes too long. Only waiting counts, not the time that the gateway needs itself. */
async function endIfSilent<Result>(silence: AbortController, work: () => Promise<Result>): Promise<Result> {
  const timer = setTimeout(() => silence.abort(new Error('signal-cli has been silent for too long.')), silenceMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}
