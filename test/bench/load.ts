// Generates load in a separate process: keep-alive connections post distinct 2 KB bodies. Orders and results are
// exchanged over IPC.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect, type OnReadOpts } from 'node:net'

export interface Order {
  url: string
  token: string
  path: string
  /** The JSON of the body. `$` is replaced by the text. */
  body: string
  /** Signs each body with HMAC-SHA256 and puts the hex signature into this header. */
  sign?: { header: string; secret: string }
  connections: number
  seconds: number
  /** The total requests per second. Absent: each connection sends as soon as it has its response. */
  rate?: number
}

/** Times in milliseconds. */
export interface Result {
  requests: number
  seconds: number
  p50: number
  p99: number
}

if (process.send) {
  process.on('message', (order: Order) => {
    void run(order).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ error: error.message }),
    )
  })
}

async function run(order: Order): Promise<Result> {
  const signatures = signAhead(order)
  const lines = await Promise.all(Array.from({ length: order.connections }, () => openLine(order, signatures)))
  const latencies: number[] = []
  const start = performance.now()
  const end = start + order.seconds * 1000
  const drive = order.rate === undefined ? asFastAsAnswered : atRate(order.rate)
  await drive({ lines, latencies, end })
  const seconds = (performance.now() - start) / 1000
  for (const line of lines) line.close()
  latencies.sort((a, b) => a - b)
  return { requests: latencies.length, seconds, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN

interface Drive {
  lines: readonly Line[]
  latencies: number[]
  /** When the last request may be sent. */
  end: number
}

async function asFastAsAnswered({ lines, latencies, end }: Drive): Promise<void> {
  const exhaust = (line: Line): Promise<void> =>
    new Promise((resolve, reject) => {
      const next = (begun: number): void => {
        if (begun >= end) return resolve()
        line.ask((error) => {
          if (error) return reject(error)
          const now = performance.now()
          latencies.push(now - begun)
          next(now)
        })
      }
      next(performance.now())
    })
  await Promise.all(lines.map(exhaust))
}

/** A due request waits for a free connection. Its latency counts from when it was due. */
const atRate =
  (rate: number) =>
  async ({ lines, latencies, end }: Drive): Promise<void> => {
    const start = performance.now()
    const free = [...lines]
    const due: number[] = []
    const failure = Promise.withResolvers<never>()
    let asked = 0
    const serve = (): void => {
      for (let line = due.length > 0 ? free.pop() : undefined; line; line = due.length > 0 ? free.pop() : undefined) {
        const [since = 0, taken] = [due.shift(), line]
        taken.ask((error) => {
          if (error) return failure.reject(error)
          latencies.push(performance.now() - since)
          free.push(taken)
          serve()
        })
      }
    }
    while (performance.now() < end) {
      const now = performance.now()
      for (; asked < ((now - start) / 1000) * rate; asked++) due.push(now)
      serve()
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 1)), failure.promise])
    }
    while (free.length < lines.length)
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 1)), failure.promise])
  }

interface Line {
  /** Posts one body. Fails unless the response is a 2xx. */
  ask(answered: (error?: Error) => void): void
  close(): void
}

const bodyBytes = 2048
const idLength = 16
const signatureLength = 64
let ids = Math.trunc(performance.timeOrigin) * 1000

const textOf = (id: number): string => id.toString().padStart(idLength, '0')

type Signatures = (id: number) => string

/** More than any server here can answer in one second. */
const signedPerSecond = 20_000

/** Signs the bodies before the measurement, because the sender's work is not measured. */
function signAhead(order: Order): Signatures | undefined {
  const { sign, seconds } = order
  if (!sign) return undefined
  const request = requestOf(order)
  const [idAt, bodyAt] = [request.indexOf('#'.repeat(idLength)), request.indexOf('\r\n\r\n') + 4]
  const signatureOf = (id: number): string => {
    request.write(textOf(id), idAt, 'latin1')
    return createHmac('sha256', sign.secret).update(request.subarray(bodyAt)).digest('hex')
  }
  const first = ids
  const made = Array.from({ length: Math.ceil(seconds * signedPerSecond) }, (_, index) => signatureOf(first + index))
  return (id) => made[id - first] ?? signatureOf(id)
}

/** Uses callbacks and one buffer per connection, because a slow load generator would measure itself. */
async function openLine(order: Order, signatures: Signatures | undefined): Promise<Line> {
  const { hostname, port } = new URL(order.url)
  const answers = createAnswers()
  const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread: answers })
  await once(socket, 'connect')
  socket.on('error', (error) => answers.fail(error.message))
  socket.on('close', () => answers.fail('the connection was closed'))
  const request = requestOf(order)
  const idAt = request.indexOf('#'.repeat(idLength))
  const signatureAt = request.indexOf('?'.repeat(signatureLength))
  return {
    ask: (answered) => {
      const id = ids++
      request.write(textOf(id), idAt, 'latin1')
      if (signatures) request.write(signatures(id), signatureAt, 'latin1')
      answers.expect(answered)
      socket.write(request)
    },
    close: () => socket.destroy(),
  }
}

/** Renders the whole request, with placeholders for an id in its body and for a signature. */
function requestOf({ url, path, token, body: frame, sign }: Order): Buffer {
  const text = `${'#'.repeat(idLength)} ${'The build of the main branch has failed; see what changed. '.repeat(50)}`
  const body = frame.replace('$', () => text.slice(0, bodyBytes - frame.length + 1))
  const proof = sign ? `${sign.header}: ${'?'.repeat(signatureLength)}` : `authorization: Bearer ${token}`
  const head = [`POST ${path} HTTP/1.1`, `host: ${new URL(url).host}`, proof, 'content-type: application/json']
  return Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`, 'latin1')
}

interface Answers extends OnReadOpts {
  /** The callback for the next response. */
  expect(answered: (error?: Error) => void): void
  fail(reason: string): void
}

/** Reads the responses of a connection, one at a time. */
function createAnswers(): Answers {
  const buffer = Buffer.alloc(64 * 1024)
  let received = ''
  let waiting: ((error?: Error) => void) | undefined
  const settle = (error?: Error): void => {
    const answered = waiting
    waiting = undefined
    answered?.(error)
  }
  return {
    buffer,
    callback: (bytes) => {
      received += buffer.toString('latin1', 0, bytes)
      const length = completeLength(received)
      if (length === undefined) return true
      const answer = received.slice(0, length)
      received = received.slice(length)
      const refused = !answer.startsWith('HTTP/1.1 2')
      settle(
        refused
          ? new Error(`answered ${answer.slice(9, 12)}: ${answer.slice(answer.indexOf('\r\n\r\n') + 4)}`)
          : undefined,
      )
      return true
    },
    expect: (answered) => (waiting = answered),
    fail: (reason) => settle(new Error(reason)),
  }
}

/** Returns the length of the response at the start of the text, or undefined when it is incomplete. */
function completeLength(text: string): number | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const lengthAt = text.indexOf('content-length: ') + 'content-length: '.length
  const length = headEnd + 4 + Number(text.slice(lengthAt, text.indexOf('\r', lengthAt)))
  return text.length >= length ? length : undefined
}
