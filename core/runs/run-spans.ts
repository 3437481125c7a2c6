// The spans of runs, attempts, steps and deliveries: their places in a trace and their attributes, by OpenTelemetry's
// conventions for generative AI. The id of a span follows from the record of what it shows, so that a run that several
// processes work on is one trace.
import type { Config } from '../config/schema/schema.ts'
import type { RunResult } from '../store/run-spec.ts'
import type { DeliveryEnd, EarlierAttempt, RunEnd, Step, StoredDelivery, StoredRun } from '../store/store.ts'
import { namedSpan, type TraceContext } from '../telemetry/trace-context.ts'
import type { EndedSpan } from '../telemetry/tracer.ts'

/** What spans show beside the records. */
export interface SpanContext {
  config: Pick<Config, 'agents' | 'telemetry'>
  /** The name in traces of a section of `providers`: that of its service, or else its own. */
  nameProvider(section: string): string
  /** Removes the secrets of the configuration. */
  redact(text: string): string
}

export function spanOfRun(run: StoredRun, { at, status, result }: RunEnd, { config }: SpanContext): EndedSpan {
  const { kind, attempts, startedAt, createdAt, spec } = run
  const firstStart = attempts[0]?.startedAt ?? startedAt
  return {
    name: `run ${run.agentId}`,
    kind: 'consumer',
    context: runPlace(run),
    parent: parentOfRun(run),
    startedAt: createdAt,
    endedAt: at,
    attributes: {
      ...describeAgent(run, config),
      'svc_gateway.run.kind': kind,
      'svc_gateway.run.status': status,
      ...(firstStart !== null && { 'svc_gateway.run.queued_ms': firstStart - createdAt }),
      ...(spec.origin.kind === 'hook' && { 'svc_gateway.hook': spec.origin.name }),
    },
    ...(status !== 'succeeded' && { error: { type: status, ...result.error } }),
  }
}

export interface EndedAttempt extends Pick<EndedSpan, 'startedAt' | 'endedAt'> {
  number: number
  result: RunResult
}

/** An attempt whose process died. */
export const toInterrupted = ({ startedAt, endedAt }: EarlierAttempt, number: number): EndedAttempt => ({
  number,
  startedAt,
  endedAt,
  result: { error: { type: 'interrupted', message: 'The gateway ended during the attempt.' } },
})

export function spanOfAttempt(
  run: StoredRun,
  { number, result, ...times }: EndedAttempt,
  { config, nameProvider, redact }: SpanContext,
): EndedSpan {
  return {
    name: `invoke_agent ${run.agentId}`,
    kind: 'internal',
    context: attemptPlace(run, number),
    parent: runPlace(run),
    ...times,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...describeAgent(run, config),
      ...describeModel(result.model, nameProvider),
      'svc_gateway.attempt': number,
      ...(config.telemetry.content && describeConversation(run, result, redact)),
    },
    error: result.error,
  }
}

/** A step that has ended. */
type EndedStep = Step & { endedAt: number }

export function spanOfStep(run: StoredRun, step: EndedStep, { config, nameProvider }: SpanContext): EndedSpan {
  const { number, attempt, startedAt, endedAt } = step
  const { content } = config.telemetry
  const described = step.kind === 'model' ? describeModelStep(step, nameProvider) : describeToolStep(step)
  return {
    ...described,
    context: stepPlace(run, attempt, number),
    parent: attemptPlace(run, attempt),
    startedAt,
    endedAt,
    attributes: {
      ...described.attributes,
      'gen_ai.conversation.id': run.sessionKey,
      'svc_gateway.step': number,
      ...(content && describeContent(step)),
    },
    error: errorOfStep(step, content),
  }
}

/** The span of an attempt at a delivery. */
export function spanOfDelivery(
  run: StoredRun,
  { id, channel, attempt }: StoredDelivery,
  { status, startedAt }: Pick<DeliveryEnd, 'status'> & { startedAt: number },
): EndedSpan {
  return {
    name: `send ${channel}`,
    kind: 'client',
    context: namedSpan(traceOf(run), `${id}/${attempt}`),
    parent: runPlace(run),
    startedAt,
    endedAt: Date.now(),
    attributes: {
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.system': channel,
      'svc_gateway.delivery.id': id,
      'svc_gateway.delivery.attempt': attempt,
    },
    // The reason is the channel's own text.
    ...(status !== 'sent' && { error: { type: status } }),
  }
}

// ── Places in the trace ──────────────────────────────────────────────────────────────────────────

/** A run that has a place in a trace. */
type TracedRun = Pick<StoredRun, 'id' | 'spec'>

const traceOf = ({ spec }: TracedRun): TraceContext => spec.trace as TraceContext
const runPlace = (run: TracedRun): TraceContext => namedSpan(traceOf(run), run.id)
const attemptPlace = (run: TracedRun, attempt: number): TraceContext => namedSpan(traceOf(run), `${run.id}/${attempt}`)
export const stepPlace = (run: TracedRun, attempt: number, number: number): TraceContext =>
  namedSpan(traceOf(run), `${run.id}/${attempt}/${number}`)

/** A run that repeats a failed one belongs to that one. */
function parentOfRun({ spec: { trace, retryOf } }: TracedRun): TraceContext | undefined {
  if (trace && retryOf !== undefined) return namedSpan(trace, retryOf)
  return trace?.isFirst ? undefined : trace
}

// ── Attributes ───────────────────────────────────────────────────────────────────────────────────

type Attributes = EndedSpan['attributes']

const describeAgent = ({ agentId, sessionKey }: StoredRun, { agents }: Pick<Config, 'agents'>): Attributes => ({
  'gen_ai.agent.id': agentId,
  'gen_ai.agent.name': agents[agentId]?.name ?? agentId,
  'gen_ai.conversation.id': sessionKey,
})

const modelIdOf = (ref: string): string => ref.slice(ref.indexOf('/') + 1)

/** @param ref `<provider>/<model>` */
function describeModel(ref: string | undefined, nameProvider: SpanContext['nameProvider']): Attributes {
  if (ref === undefined) return {}
  return {
    'gen_ai.provider.name': nameProvider(ref.slice(0, ref.indexOf('/'))),
    'gen_ai.request.model': modelIdOf(ref),
  }
}

type Described = Pick<EndedSpan, 'name' | 'kind' | 'attributes'>

function describeModelStep(
  { detail }: Extract<Step, { kind: 'model' }>,
  nameProvider: SpanContext['nameProvider'],
): Described {
  const { model, usage, finishReason, firstTokenMs, responseModel } = detail
  return {
    name: `chat ${modelIdOf(model)}`,
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...describeModel(model, nameProvider),
      'gen_ai.request.stream': true,
      'gen_ai.response.model': responseModel,
      'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
      'gen_ai.response.time_to_first_chunk': firstTokenMs === undefined ? undefined : firstTokenMs / 1000,
      'gen_ai.usage.input_tokens': usage?.inputTokens,
      'gen_ai.usage.output_tokens': usage?.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
      'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    },
  }
}

function describeToolStep({ detail, message }: Extract<Step, { kind: 'tool' }>): Described {
  const { toolCallId } = (message ?? {}) as { toolCallId?: string }
  // A model may call a tool that does not exist, with any text as its name.
  const tool = /^\w{1,64}$/.test(detail.tool) ? detail.tool : 'unknown'
  return {
    name: `execute_tool ${tool}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': toolCallId?.slice(0, maxIdLength),
      'svc_gateway.tool.verdict': detail.verdict,
      'svc_gateway.tool.result_length': detail.resultLength,
    },
  }
}

const maxIdLength = 200

/** What failed a call of a tool may quote its arguments. */
function errorOfStep({ kind, status, detail, content }: Step, withContent: boolean): EndedSpan['error'] {
  if (status === 'succeeded' || status === 'running' || status === 'waiting') return undefined
  const type = status === 'interrupted' ? status : `${kind}_${status}`
  const message = kind === 'model' ? detail.error : withContent ? content?.error : undefined
  return { type, ...(message !== undefined && { message }) }
}

// ── Content: only with `telemetry.content` ───────────────────────────────────────────────────────

/** The content of a step is shortened and has no secrets; it is null where the hook keeps no bodies. */
function describeContent({ kind, content, detail }: Step): Attributes {
  if (!content) return {}
  if (kind === 'tool')
    return {
      'gen_ai.tool.call.arguments': JSON.stringify(content.args),
      'gen_ai.tool.call.result': content.result === undefined ? undefined : JSON.stringify(content.result),
    }
  const finish = 'finishReason' in detail ? detail.finishReason : undefined
  return { 'gen_ai.output.messages': toMessages('assistant', content.text, finish) }
}

/** The most characters of a message. */
const maxTextLength = 64 * 1024

function describeConversation({ spec }: StoredRun, { reply }: RunResult, redact: SpanContext['redact']): Attributes {
  if (spec.origin.keepContent === false) return {}
  const shorten = (text: string): string => redact(text).slice(0, maxTextLength).toWellFormed()
  return {
    'gen_ai.input.messages': toMessages('user', shorten(spec.message)),
    ...(reply !== undefined && { 'gen_ai.output.messages': toMessages('assistant', shorten(reply), 'stop') }),
  }
}

/** Messages in the JSON form of the conventions. */
const toMessages = (role: 'user' | 'assistant', content = '', finish?: string): string =>
  JSON.stringify([
    { role, parts: [{ type: 'text', content }], ...(role === 'assistant' && { finish_reason: finish ?? 'unknown' }) },
  ])
