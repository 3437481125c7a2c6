// A `fetch` for packages of the AI SDK: reads over what harms nothing in a stream of events, and says what a service sent
// in place of one.

/** Changes an event of a stream, or leaves it out by returning undefined. */
export type RepairEvent = (event: Record<string, unknown>) => Record<string, unknown> | undefined

/** A service answered 200, but not with a stream of events: an error, a page of a proxy, or a whole answer. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError'
  /** The beginning of what it sent. */
  readonly text: string

  constructor(text: string, type: string | null) {
    super(`The service sent something else than an event of a stream (${type ?? 'without a content type'}):`)
    this.text = text
  }
}

/** The most that is kept of an answer that is no stream, in characters. */
const maxTextLength = 16_000

/** Other requests than those for a stream are not changed. */
export function createStreamFetch(repair: RepairEvent = (event) => event): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { ok, body, status, statusText, headers } = response
    if (!ok || !body || !asksForStream(input, init)) return response
    const stream = body.pipeThrough(createEventReader(repair, headers.get('content-type')))
    return new Response(stream, { status, statusText, headers })
  }
}

const asksForStream = (input: Parameters<typeof fetch>[0], init: RequestInit | undefined): boolean =>
  (typeof init?.body === 'string' && init.body.includes('"stream":true')) ||
  /[?&]alt=sse\b/.test(input instanceof Request ? input.url : input.toString())

const field = /^(?:data|event|id|retry)?:|^(?:data|event|id|retry)$/

function createEventReader(
  repair: RepairEvent,
  type: string | null,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
  let pending = ''
  let isStream = false
  /** A line that is no field of an event, such as the words of a proxy. It counts if no event follows. */
  let stray = ''
  const readLine = (line: string, index: number, lines: readonly string[]): string => {
    if (line.trim()) stray = field.test(line) ? '' : line
    // An event may consist of several lines of data.
    const isPart = [lines[index - 1], lines[index + 1]].some((other) => other?.startsWith('data:'))
    const repaired = isPart ? line : repairLine(line, repair)
    if (repaired === undefined) throw new UnexpectedAnswerError(line.slice(0, maxTextLength), type)
    return repaired
  }
  const read = (text: string): Uint8Array => encoder.encode(text.split('\n').map(readLine).join('\n'))
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array>({
    transform(bytes, controller) {
      pending += decoder.decode(bytes, { stream: true })
      isStream ||= field.test(pending.trimStart())
      if (!isStream && pending.length > maxTextLength) throw new UnexpectedAnswerError(pending, type)
      const end = isStream ? pending.lastIndexOf('\n') + 1 : 0
      if (end === 0) return
      controller.enqueue(read(pending.slice(0, end)))
      pending = pending.slice(end)
    },
    flush(controller) {
      if (!isStream && pending.trim()) throw new UnexpectedAnswerError(pending, type)
      controller.enqueue(read(pending))
      if (stray) throw new UnexpectedAnswerError(stray.slice(0, maxTextLength), type)
    },
  })
}

/** Services send these to keep a connection open. */
const keepAlive = /^(?:null|\{\}|\[?(?:ping|keep-?alive)\]?|)$/i

/** Undefined for data that is no JSON. The packages lose its text, or the whole error. */
function repairLine(line: string, repair: RepairEvent): string | undefined {
  const [, text] = /^data:(.*)$/s.exec(line) ?? []
  if (text === undefined) return line
  const data = text.trim()
  if (data === '[DONE]') return line
  if (keepAlive.test(data)) return ''
  const event = parseEvent(data)
  if (event === undefined) return undefined
  if (typeof event !== 'object') return line
  const repaired = repair(event)
  if (repaired === event) return line
  return repaired === undefined ? '' : `data: ${JSON.stringify(repaired)}`
}

function parseEvent(data: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(data) as Record<string, unknown>
  } catch {
    return undefined
  }
}
