// Exports what runs do as spans: runs, attempts, steps and deliveries, by OpenTelemetry's conventions for generative AI.
// A span is exported when it has ended, from the record of what it shows. Its id follows from the record, too, so that a
// run that several processes work on is one trace.
import type { Config } from '../config/schema/schema.ts'
import type { RunResult } from '../store/run-spec.ts'
import type {
  AcceptCommand,
  DeliveryEnd,
  EarlierAttempt,
  RunEnd,
  Step,
  Store,
  StoredDelivery,
  StoredRun,
} from '../store/store.ts'
import { namedSpan, type TraceContext } from '../telemetry/trace-context.ts'
import type { EndedSpan, Tracer } from '../telemetry/tracer.ts'
import { type AttemptResult, type AttemptRetry, Stopped } from './attempt-result.ts'

type AttemptEnd = AttemptResult | AttemptRetry

export interface RunTracing {
  /** Gives the runs of a command their place in a trace: below a span, or at the beginning of a new trace. */
  begin(command: AcceptCommand, trace?: TraceContext): AcceptCommand
  end(run: StoredRun, end: RunEnd): void
  /** Makes an attempt, and exports its span however it ends. */
  attempt(run: StoredRun, makeAttempt: () => Promise<AttemptEnd>): Promise<AttemptEnd>
  /** Does nothing while the step has not ended. */
  step(run: StoredRun, step: Step): void
  /** The span of a step of the latest attempt. Undefined if traces were off when the run was accepted. */
  traceOfStep(run: StoredRun, number: number): TraceContext | undefined
  /** Exports the span of an attempt at a delivery, if a run caused it. */
  delivery(delivery: StoredDelivery, end: DeliveryEnd, startedAt: number): Promise<void>
}

interface TracingDeps {
  tracer: Tracer
  store: Pick<Store, 'getRun'>
  config(): Pick<Config, 'agents' | 'providers' | 'telemetry'>
  /** Removes the secrets of the configuration. */
  redact(text: string): string
}

export function createRunTracing({ tracer, store, config, redact }: TracingDeps): RunTracing {
  const exportSpan = (run: StoredRun, { error, ...span }: EndedSpan): void => {
    const message = error?.message === undefined ? undefined : redact(error.message)
    const attributes = { ...span.attributes, 'svc_gateway.run.id': run.id }
    tracer.export({ ...span, attributes, ...(error && { error: { ...error, message } }) })
  }

  const exportAttempt = (run: StoredRun, { number, result, ...times }: EndedAttempt): void => {
    const attributes = { ...describeAgent(run, config()), ...describeModel(result.model, config()) }
    const content = config().telemetry.content ? describeConversation(run, result, redact) : {}
    exportSpan(run, {
      name: `invoke_agent ${run.agentId}`,
      kind: 'internal',
      context: attemptSpan(run, number),
      parent: runSpan(run),
      ...times,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        ...attributes,
        'svc_gateway.attempt': number,
        ...content,
      },
      error: result.error,
    })
  }

  return {
    begin: (command, trace) => {
      const place = trace ?? (command.runs?.length ? { ...tracer.begin(), isFirst: true } : undefined)
      return { ...command, runs: command.runs?.map((run) => ({ ...run, spec: { ...run.spec, trace: place } })) }
    },

    end: (run, { at, status, result }) => {
      if (!run.spec.trace) return
      const { kind, attempts, startedAt, createdAt } = run
      const { origin } = run.spec
      const firstStart = attempts[0]?.startedAt ?? startedAt
      // Its process has died, and no attempt is left that would export it.
      if (result.error?.type === 'interrupted' && startedAt !== null)
        exportAttempt(run, { number: attempts.length + 1, startedAt, endedAt: at, result })
      exportSpan(run, {
        name: `run ${run.agentId}`,
        kind: 'consumer',
        context: runSpan(run),
        parent: parentOfRun(run),
        startedAt: createdAt,
        endedAt: at,
        attributes: {
          ...describeAgent(run, config()),
          'svc_gateway.run.kind': kind,
          'svc_gateway.run.status': status,
          ...(firstStart !== null && { 'svc_gateway.run.queued_ms': firstStart - createdAt }),
          ...(origin.kind === 'hook' && { 'svc_gateway.hook': origin.name }),
        },
        ...(status !== 'succeeded' && { error: { type: status, ...result.error } }),
      })
    },

    attempt: async (run, makeAttempt) => {
      if (!run.spec.trace) return await makeAttempt()
      const earlier = run.attempts.at(-1)
      // The process that died within this attempt could not export it.
      if (earlier?.reason === 'interrupted') exportAttempt(run, toInterrupted(earlier, run.attempts.length))
      const startedAt = run.startedAt ?? Date.now()
      const ended = (result: RunResult): void =>
        exportAttempt(run, { number: run.attempts.length + 1, startedAt, endedAt: Date.now(), result })
      try {
        const end = await makeAttempt()
        ended('retry' in end ? end.retry.result : end.result)
        return end
      } catch (error) {
        const type = error instanceof Stopped ? error.reason : 'internal_error'
        // Another gateway has the run now, and exports this attempt as interrupted.
        if (type !== 'lost') ended({ error: { type, message: 'The gateway ended the attempt.' } })
        throw error
      }
    },

    step: (run, step) => {
      if (!run.spec.trace || step.endedAt === null) return
      const { number, attempt, startedAt, endedAt } = step
      const content = config().telemetry.content
      const described = step.kind === 'model' ? describeModelStep(step, config()) : describeToolStep(step)
      exportSpan(run, {
        ...described,
        context: stepSpan(run, attempt, number),
        parent: attemptSpan(run, attempt),
        startedAt,
        endedAt,
        attributes: {
          ...described.attributes,
          'gen_ai.conversation.id': run.sessionKey,
          'svc_gateway.step': number,
          ...(content && describeContent(step)),
        },
        error: errorOfStep(step, content),
      })
    },

    traceOfStep: (run, number) => run.spec.trace && stepSpan(run, run.attempts.length + 1, number),

    delivery: async ({ id, runId, channel, attempt }, end, startedAt) => {
      const run = runId ? await store.getRun(runId) : undefined
      if (!run?.spec.trace) return
      exportSpan(run, {
        name: `send ${channel}`,
        kind: 'client',
        context: namedSpan(run.spec.trace, `${id}/${attempt}`),
        parent: runSpan(run),
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
        ...(end.status !== 'sent' && { error: { type: end.status } }),
      })
    },
  }
}

// ── Places in the trace ──────────────────────────────────────────────────────────────────────────

/** A run that has a place in a trace. */
type TracedRun = Pick<StoredRun, 'id' | 'spec'>

const traceOf = ({ spec }: TracedRun): TraceContext => spec.trace as TraceContext
const runSpan = (run: TracedRun): TraceContext => namedSpan(traceOf(run), run.id)
const attemptSpan = (run: TracedRun, attempt: number): TraceContext => namedSpan(traceOf(run), `${run.id}/${attempt}`)
const stepSpan = (run: TracedRun, attempt: number, number: number): TraceContext =>
  namedSpan(traceOf(run), `${run.id}/${attempt}/${number}`)

/** A run that repeats a failed one belongs to that one. */
function parentOfRun({ spec: { trace, retryOf } }: TracedRun): TraceContext | undefined {
  if (trace && retryOf !== undefined) return namedSpan(trace, retryOf)
  return trace?.isFirst ? undefined : trace
}

// ── Attributes ───────────────────────────────────────────────────────────────────────────────────

type Attributes = EndedSpan['attributes']

interface EndedAttempt extends Pick<EndedSpan, 'startedAt' | 'endedAt'> {
  number: number
  result: RunResult
}

const toInterrupted = ({ startedAt, endedAt }: EarlierAttempt, number: number): EndedAttempt => ({
  number,
  startedAt,
  endedAt,
  result: { error: { type: 'interrupted', message: 'The gateway ended during the attempt.' } },
})

const describeAgent = ({ agentId, sessionKey }: StoredRun, { agents }: Pick<Config, 'agents'>): Attributes => ({
  'gen_ai.agent.id': agentId,
  'gen_ai.agent.name': agents[agentId]?.name ?? agentId,
  'gen_ai.conversation.id': sessionKey,
})

/** The names of the conventions for kinds of providers. Others have the name that the configuration gives them. */
const providerNames: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  openai: 'openai',
}

const modelIdOf = (ref: string): string => ref.slice(ref.indexOf('/') + 1)

/** @param ref `<provider>/<model>` */
function describeModel(ref: string | undefined, { providers }: Pick<Config, 'providers'>): Attributes {
  if (ref === undefined) return {}
  const provider = ref.slice(0, ref.indexOf('/'))
  return {
    'gen_ai.provider.name': providerNames[providers[provider]?.kind ?? ''] ?? provider,
    'gen_ai.request.model': modelIdOf(ref),
  }
}

type Described = Pick<EndedSpan, 'name' | 'kind' | 'attributes'>

function describeModelStep({ detail }: Extract<Step, { kind: 'model' }>, config: Pick<Config, 'providers'>): Described {
  const { model, usage, finishReason, firstTokenMs, responseModel } = detail
  return {
    name: `chat ${modelIdOf(model)}`,
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...describeModel(model, config),
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
function errorOfStep({ kind, status, detail }: Step, withContent: boolean): EndedSpan['error'] {
  if (status === 'succeeded' || status === 'running') return undefined
  const type = status === 'interrupted' ? status : `${kind}_${status}`
  return { type, ...((kind === 'model' || withContent) && { message: detail.error }) }
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

function describeConversation({ spec }: StoredRun, { reply }: RunResult, redact: (text: string) => string): Attributes {
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
