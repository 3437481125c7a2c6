// The position in a trace, as W3C Trace Context writes it: read from requests, stored with runs, and sent to services.
import { hash } from 'node:crypto'

/** A span and its trace. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`. */
  traceparent: string
  /** What tracing systems add for themselves. */
  tracestate?: string | undefined
}

/** A later version may have more fields. */
const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/
const length = 55
const maxStateLength = 512

/** Undefined if there is no header `traceparent`, or not a valid one. */
export function readTraceContext(headers: Readonly<Record<string, unknown>>): TraceContext | undefined {
  const { traceparent, tracestate } = headers
  if (typeof traceparent !== 'string' || !pattern.test(traceparent)) return undefined
  const isFirstVersion = traceparent.startsWith('00')
  if (isFirstVersion && traceparent.length !== length) return undefined
  const isKept = typeof tracestate === 'string' && tracestate.length <= maxStateLength
  return { traceparent: `00${traceparent.slice(2, length)}`, ...(isKept && { tracestate }) }
}

export const traceIdOf = ({ traceparent }: TraceContext): string => traceparent.slice(3, 35)
export const spanIdOf = ({ traceparent }: TraceContext): string => traceparent.slice(36, 52)
/** Whether the spans of the trace are exported. */
export const isSampled = ({ traceparent }: TraceContext): boolean => (parseInt(traceparent.slice(53), 16) & 1) === 1

/** The context of another span of the same trace. */
const withSpanId = ({ traceparent, tracestate }: TraceContext, spanId: string): TraceContext => ({
  traceparent: `${traceparent.slice(0, 36)}${spanId}${traceparent.slice(52)}`,
  ...(tracestate !== undefined && { tracestate }),
})

/**
 * The context of a span whose id follows from a name that is unique in the trace. Each gateway finds the same id, so
 * that spans refer to others that another process exports, or that are exported later.
 */
export const namedSpan = (trace: TraceContext, name: string): TraceContext =>
  withSpanId(trace, hash('sha256', name).slice(0, 16))

/** The headers that continue the trace in another service. */
export const toHeaders = ({ traceparent, tracestate }: TraceContext): Record<string, string> => ({
  traceparent,
  ...(tracestate !== undefined && { tracestate }),
})

const noHeaders = (): undefined => undefined

/**
 * The headers for a service that the operator has configured or, with a URL, for a host that is one of `hosts`; else
 * none.
 */
export const createTraceHeaders = (
  trace: TraceContext | undefined,
  hosts: readonly string[],
): ((url?: string | URL) => Record<string, string> | undefined) =>
  trace ? (url) => (url === undefined || isListed(url, hosts) ? toHeaders(trace) : undefined) : noHeaders

function isListed(address: string | URL, hosts: readonly string[]): boolean {
  const url = URL.parse(String(address))
  return url !== null && hosts.some((listed) => [url.hostname, url.host].includes(listed.trim().toLowerCase()))
}
