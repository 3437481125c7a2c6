// A loopback receiver of traces: it accepts OTLP over HTTP, as protobuf or JSON, and keeps the spans.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import { closeAtEnd } from '../share.ts'

type Value = string | number | boolean | readonly Value[]

export interface ReceivedSpan {
  name: string
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  traceId: string
  spanId: string
  /** Absent: the span is the first of its trace. */
  parentId?: string
  tracestate?: string
  /** Unix milliseconds. */
  startedAt: number
  endedAt: number
  attributes: Record<string, Value>
  status: 'unset' | 'ok' | 'error'
  message?: string
  /** The attributes of the resource. */
  resource: Record<string, Value>
}

export interface OtlpReceiver {
  url: string
  spans: ReceivedSpan[]
  /** The headers and the content types of the requests. */
  requests: { path: string; headers: IncomingHttpHeaders }[]
  /** Resolves with all spans, or with those of a trace, when one of them has this name. */
  until(name: string, traceId?: string): Promise<readonly ReceivedSpan[]>
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const { root } = await protobuf.load(join(import.meta.dirname, 'otlp.proto'))
  const type = root.lookupType('ExportTraceServiceRequest')
  const [spans, requests]: [ReceivedSpan[], OtlpReceiver['requests']] = [[], []]
  const arrivals = new EventTarget()
  const decode = (body: Buffer, isJson: boolean): Request =>
    isJson
      ? (JSON.parse(body.toString()) as Request)
      : (type.toObject(type.decode(body), { longs: Number, arrays: true, bytes: (text: unknown) => text }) as Request)

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url: path = '', headers } = request
      requests.push({ path, headers })
      const body = Buffer.concat(chunks)
      const whole = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
      spans.push(...readSpans(decode(whole, headers['content-type'] === 'application/json')))
      response.end()
      arrivals.dispatchEvent(new Event('spans'))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closeAtEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    until: async (name, traceId) => {
      const wanted = () => (traceId === undefined ? spans : spans.filter((span) => span.traceId === traceId))
      while (!wanted().some((span) => span.name === name)) await once(arrivals, 'spans')
      return wanted()
    },
  }
}

interface Request {
  resourceSpans: readonly {
    resource: { attributes: readonly Pair[] }
    scopeSpans: readonly { spans: readonly Raw[] }[]
  }[]
}

type Id = string | Uint8Array
type AnyValue = Record<string, unknown> & { arrayValue?: { values: readonly AnyValue[] } }

interface Pair {
  key: string
  value: AnyValue
}

interface Raw {
  traceId: Id
  spanId: Id
  parentSpanId?: Id
  traceState?: string
  name: string
  kind: number
  startTimeUnixNano: number | string
  endTimeUnixNano: number | string
  attributes?: readonly Pair[]
  status?: { code?: number; message?: string }
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const statuses = ['unset', 'ok', 'error'] as const

const readSpans = ({ resourceSpans }: Request): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => {
        const parentId = span.parentSpanId && toHex(span.parentSpanId)
        return {
          name: span.name,
          kind: kinds[span.kind] ?? 'internal',
          traceId: toHex(span.traceId),
          spanId: toHex(span.spanId),
          ...(parentId && { parentId }),
          ...(span.traceState && { tracestate: span.traceState }),
          startedAt: Number(span.startTimeUnixNano) / 1e6,
          endedAt: Number(span.endTimeUnixNano) / 1e6,
          attributes: readAttributes(span.attributes),
          status: statuses[span.status?.code ?? 0] ?? 'unset',
          ...(span.status?.message && { message: span.status.message }),
          resource: readAttributes(resource.attributes),
        }
      }),
    ),
  )

const toHex = (id: Id): string => (typeof id === 'string' ? id : Buffer.from(id).toString('hex'))

const readAttributes = (pairs: readonly Pair[] = []): Record<string, Value> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, readValue(value)]))

function readValue({ arrayValue, ...value }: AnyValue): Value {
  if (arrayValue) return arrayValue.values.map(readValue)
  const [[type, given] = []] = Object.entries(value)
  return type === 'intValue' ? Number(given) : (given as Value)
}
