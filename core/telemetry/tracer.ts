// Exports traces with the OpenTelemetry SDK, which is an optional package that the standard OTEL_* variables configure.
import { randomBytes } from 'node:crypto'
import type { Attributes } from '@opentelemetry/api'
import { firstLineOf } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import { isSampled, spanIdOf, type TraceContext, traceIdOf } from './trace-context.ts'

export interface EndedSpan {
  name: string
  kind: 'internal' | 'server' | 'client' | 'consumer'
  context: TraceContext
  /** Absent: the span is the first of its trace. */
  parent?: TraceContext | undefined
  /** Unix milliseconds. */
  startedAt: number
  endedAt: number
  attributes: Attributes
  /** A short name for the class of the error, and a sentence without anything of a message. */
  error?: { type: string; message?: string | undefined } | undefined
}

/** Absent wherever traces are off. */
export interface Tracer {
  /** Begins a span, as the first of a trace or within one. Decides whether the trace is exported. */
  begin(parent?: TraceContext): TraceContext
  export(span: EndedSpan): void
  /** Exports what is left, for at most `ms` milliseconds. */
  close(ms: number): Promise<void>
}

/** The packages that the gateway needs for traces, with the versions that it was tested with. */
export const tracePackages = {
  packages: (): Record<string, string> => ({ '@opentelemetry/api': '1.10.0', '@opentelemetry/sdk-node': '0.301.0' }),
}

/** Whether the variables ask for traces. */
export const areTracesOn = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']?.trim() || env['OTEL_EXPORTER_OTLP_ENDPOINT']?.trim()) &&
  env['OTEL_SDK_DISABLED']?.trim().toLowerCase() !== 'true' &&
  env['OTEL_TRACES_EXPORTER']?.trim() !== 'none'

interface TracerOptions {
  env: NodeJS.ProcessEnv
  version: string
  log: Log
}

/** Undefined if traces cannot be exported, which is logged. */
export async function openTracer({ env, version, log }: TracerOptions): Promise<Tracer | undefined> {
  try {
    // The SDK takes half a second and 45 MB to load, so only a gateway with traces loads it.
    const [api, { NodeSDK }] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/sdk-node')])
    const report = reportOnce((reason) => log.warn({ reason }, 'OpenTelemetry reports a problem; traces may be lost'))
    const silent = (): void => {}
    api.diag.setLogger(
      { error: report, warn: report, info: silent, debug: silent, verbose: silent },
      { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
    )
    const idGenerator = createIdGenerator()
    const sdk = new NodeSDK({
      serviceName: namesService(env) ? undefined : 'svc-gateway',
      idGenerator,
      metricReaders: [],
      logRecordProcessors: [],
    })
    sdk.start()
    const tracer = createTracer({ api, idGenerator, tracer: api.trace.getTracer('svc-gateway', version) })
    const shutDown = async (): Promise<void> => {
      await sdk.shutdown()
      api.trace.disable()
    }
    if (tracer.isOurs()) return { ...tracer, close: closeOnce(shutDown) }
    log.warn({}, 'traces are off: another OpenTelemetry SDK is registered in this process, or it has no exporter')
    await shutDown()
  } catch (error) {
    log.warn({ reason: firstLineOf(error) }, 'traces are off: the OpenTelemetry SDK could not be started')
  }
  return undefined
}

/** Whether the variables name the service. */
const namesService = ({ OTEL_SERVICE_NAME: name, OTEL_RESOURCE_ATTRIBUTES: attributes }: NodeJS.ProcessEnv): boolean =>
  Boolean(name?.trim()) || /(?:^|,)\s*service\.name\s*=/.test(attributes ?? '')

type Api = typeof import('@opentelemetry/api')

interface TracerParts {
  api: Api
  idGenerator: IdGenerator
  tracer: ReturnType<Api['trace']['getTracer']>
}

function createTracer({ api, idGenerator, tracer }: TracerParts) {
  const kinds = {
    internal: api.SpanKind.INTERNAL,
    server: api.SpanKind.SERVER,
    client: api.SpanKind.CLIENT,
    consumer: api.SpanKind.CONSUMER,
  }
  const within = (parent: TraceContext | undefined) =>
    parent
      ? api.trace.setSpanContext(api.ROOT_CONTEXT, {
          traceId: traceIdOf(parent),
          spanId: spanIdOf(parent),
          traceFlags: isSampled(parent) ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
          isRemote: true,
          ...(parent.tracestate !== undefined && { traceState: api.createTraceState(parent.tracestate) }),
        })
      : api.ROOT_CONTEXT
  return {
    begin: (parent?: TraceContext): TraceContext => {
      // The span is exported later, under the same ids, when it is known how it ended.
      const { traceId, spanId, traceFlags, traceState } = tracer.startSpan('', {}, within(parent)).spanContext()
      const tracestate = traceState?.serialize()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        ...(tracestate && { tracestate }),
      }
    },
    export: ({ name, kind, context, parent, startedAt, endedAt, attributes, error }: EndedSpan): void => {
      if (!isSampled(context)) return
      const options = { kind: kinds[kind], startTime: startedAt, attributes }
      const span = idGenerator.withIds(context, () => tracer.startSpan(name, options, within(parent)))
      if (error) {
        span.setAttribute('error.type', error.type)
        span.setStatus({ code: api.SpanStatusCode.ERROR, ...(error.message && { message: error.message }) })
      }
      span.end(Math.max(startedAt, endedAt))
    },
    /** Whether the SDK that is registered uses the ids that it gets from here. */
    isOurs: (): boolean => {
      const probe = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00` }
      return idGenerator.withIds(probe, () => tracer.startSpan('')).spanContext().spanId === spanIdOf(probe)
    },
  }
}

type IdGenerator = ReturnType<typeof createIdGenerator>

/** Gives spans random ids, or those that they were begun with. */
function createIdGenerator() {
  let given: TraceContext | undefined
  return {
    generateTraceId: (): string => (given ? traceIdOf(given) : randomBytes(16).toString('hex')),
    generateSpanId: (): string => (given ? spanIdOf(given) : randomBytes(8).toString('hex')),
    withIds: <Span>(context: TraceContext, start: () => Span): Span => {
      given = context
      try {
        return start()
      } finally {
        given = undefined
      }
    },
  }
}

/** More kinds of problems than these are not reported. */
const maxReports = 20

/** Reports each problem once, because an exporter that is down fails every few seconds. */
function reportOnce(report: (reason: string) => void): (problem: unknown) => void {
  const reported = new Set<string>()
  return (problem) => {
    const reason = describe(problem)
    if (reported.has(reason) || reported.size >= maxReports) return
    reported.add(reason)
    report(reason)
  }
}

/** The SDK reports an error as a message or as JSON with its stack. */
function describe(problem: unknown): string {
  const text = String(problem)
  try {
    const { message, name } = JSON.parse(text) as { message?: unknown; name?: unknown }
    return firstLineOf(String(message ?? name))
  } catch {
    return firstLineOf(text)
  }
}

function closeOnce(shutDown: () => Promise<void>): Tracer['close'] {
  let closing: Promise<void> | undefined
  return async (ms) => {
    closing ??= shutDown().catch(() => undefined)
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, ms)
    await Promise.race([closing, late.promise])
    clearTimeout(timer)
  }
}
