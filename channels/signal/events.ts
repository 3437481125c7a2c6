// Reads the stream of incoming messages (server-sent events).
import { AuthError } from 'svc-gateway/plugin'
import { endpointOf, refuseErrorStatus, StatusError } from './rpc.ts'

export interface ServerEvent {
  /** Only some versions of signal-cli send ids. */
  id: string | undefined
  data: string
}

/** signal-cli sends a comment every 15 seconds. After this silence the connection is dead. */
const silenceMs = 60_000
/** Longest line that is accepted, in UTF-16 code units. Messages are far shorter. */
const longestLine = 8 * 1024 * 1024

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
  return parseEvents(readLines(response.body, silence))
}

export const notLinked = (account: string): AuthError =>
  new AuthError(`signal-cli has no account ${account}. Log in, or link it with signal-cli.`)

/** Joins the lines of each event. Comments and unknown fields are ignored. */
async function* parseEvents(lines: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let id: string | undefined
  let data: string[] = []
  for await (const line of lines) {
    if (line === '') {
      if (data.length > 0) yield { id, data: data.join('\n') }
      id = undefined
      data = []
      continue
    }
    const [field, value = ''] = line.split(/:(.*)/s, 2)
    const text = value.startsWith(' ') ? value.slice(1) : value
    if (field === 'data') data.push(text)
    // An id with such characters could not be sent back as a header.
    if (field === 'id' && /^[\x21-\x7e]{1,100}$/.test(text)) id = text
  }
}

async function* readLines(body: ReadableStream<Uint8Array>, silence: AbortController): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (true) {
      const { done, value } = await endIfSilent(silence, () => reader.read())
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
      if (rest.length > longestLine) throw new Error('signal-cli sent a line that is too long.')
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
