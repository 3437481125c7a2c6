// Tests the trace context: what a request may bring, the ids of spans, and where it is sent.
import { describe, expect, it } from 'vitest'
import {
  createTraceHeaders,
  isSampled,
  namedSpan,
  readTraceContext,
  spanIdOf,
  traceIdOf,
} from '../../core/telemetry/trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

describe('readTraceContext', () => {
  it('reads a valid header and what other systems added', () => {
    const trace = readTraceContext({ traceparent, tracestate: 'a=1,b=2' })
    expect(trace).toEqual({ traceparent, tracestate: 'a=1,b=2' })
    expect([traceIdOf(trace!), spanIdOf(trace!), isSampled(trace!)]).toEqual([traceId, spanId, true])
    expect(isSampled(readTraceContext({ traceparent: `00-${traceId}-${spanId}-02` })!)).toBe(false)
  })

  it('reads the known fields of a later version', () => {
    expect(readTraceContext({ traceparent: `cc-${traceId}-${spanId}-01-what-comes` })).toEqual({ traceparent })
  })

  it('drops a tracestate that is too long', () => {
    expect(readTraceContext({ traceparent, tracestate: `a=${'x'.repeat(600)}` })).toEqual({ traceparent })
  })

  it.each([
    undefined,
    '',
    'nonsense',
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `${traceparent}-more`,
    `${traceparent}, ${traceparent}`,
    `cc-${traceId}-${spanId}-01x`,
  ])('ignores the header %s', (header) => {
    expect(readTraceContext({ traceparent: header, tracestate: 'a=1' })).toBeUndefined()
  })
})

describe('namedSpan', () => {
  it('has the same id for the same name, in the same trace', () => {
    const span = namedSpan({ traceparent, tracestate: 'a=1' }, 'run/1')
    expect(span).toEqual(namedSpan({ traceparent, tracestate: 'a=1' }, 'run/1'))
    expect(span).toEqual({ traceparent: `00-${traceId}-${spanIdOf(span)}-01`, tracestate: 'a=1' })
    expect(spanIdOf(span)).not.toBe(spanIdOf(namedSpan({ traceparent }, 'run/2')))
  })
})

describe('createTraceHeaders', () => {
  const headers = createTraceHeaders({ traceparent }, ['Wiki.internal', '127.0.0.1:8080'])

  it.each([
    [undefined, true],
    ['https://wiki.internal/page', true],
    ['https://wiki.internal:444/page', true],
    ['http://127.0.0.1:8080/', true],
    ['http://127.0.0.1:8081/', false],
    ['https://not-wiki.internal/', false],
    ['https://wiki.internal.example.com/', false],
    ['https://wiki.internal@example.com/', false],
    ['no address', false],
  ])('for %s: %s', (url, isSent) => {
    expect(headers(url)).toEqual(isSent ? { traceparent } : undefined)
  })

  it('has none without a trace', () => {
    expect(createTraceHeaders(undefined, ['wiki.internal'])('https://wiki.internal/')).toBeUndefined()
  })
})
