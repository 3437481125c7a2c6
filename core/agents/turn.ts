// Executes one turn: calls the model, makes the tool calls that it asks for, and repeats both until it has the reply.
// Each step is recorded before the next one depends on it. Ends when the signal aborts.
import type { GenerateTextStepEndEvent, LanguageModelMiddleware, ModelMessage, ToolSet } from 'ai'
import type * as Ai from 'ai'
import { GatewayError } from '../errors.ts'
import type { Json, Log, Tool } from '../plugin/plugin.ts'
import type { Thinking } from '../action.ts'
import { untilAborted } from '../deadline.ts'
import type { RunError, Usage } from '../store/run-spec.ts'
import type { Provenance } from '../store/provenance.ts'
import type { AskedApprovals, Step } from '../store/store.ts'
import { toHeaders, type TraceContext, traceIdOf } from '../telemetry/trace-context.ts'
import type { CallCheck } from '../tools/check-call.ts'
import type { Invoke } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { wellFormed } from '../well-formed.ts'
import type { Agent } from './agents.ts'
import { type Conversation, createConversation } from './conversation.ts'
import { createOutputLimits, type ModelAnswer, type OutputLimits, readAnswer } from './model-answer.ts'
import { createExactInputs } from './exact-inputs.ts'
import { isUsedUp, ModelError } from './model-error.ts'
import { estimateTokens, trimHistory } from './history.ts'
import { limitOpening, limitSilence, type ModelCallObserver } from './model-silence.ts'
import { type Model, resolveReasoning } from './models.ts'
import { createToolCalls, type StepApprovals } from './tool-steps.ts'
import type { TurnSources } from '../tools/turn-sources.ts'

export interface TurnInput {
  agent: Pick<Agent, 'id' | 'maxSteps' | 'maxOutputTokens'>
  model: Model
  thinking?: Thinking | undefined
  /** The system prompt. */
  system: string
  /** The user's message. */
  prompt: string
  /** Earlier messages of the session, oldest first, already trimmed. */
  history: readonly Json[]
  sessionKey: string
  /** What the turn may do, and where its texts came from. */
  sources: TurnSources
  runId: string
  /** Which attempt at the run this is, from 1. */
  attempt: number
  /** The steps of earlier attempts. The turn continues after them. */
  steps?: readonly Step[] | undefined
  /**
   * Stores steps, or their new state. A tool is called when its step is stored, and its result is read when that is
   * stored. If it rejects, the turn ends with its error.
   * @param count how many steps the run has now
   */
  record(steps: readonly Step[], count: number, asked?: AskedApprovals): Promise<void>
  /** Called before each call of the model. Returns why the turn must end instead. */
  findStop?: (() => Promise<RunError | undefined>) | undefined
  /** Called before each call of a tool. Throws if whoever started the turn may not do so any more. */
  authorize?: (() => Promise<void>) | undefined
  /** The approvals of the run's calls. Absent: calls that need one are refused. */
  approvals?: StepApprovals | undefined
  /** Called when a call of the model begins. */
  onModelStep?: ((step: Step) => void) | undefined
  /** The span of a step, if the run is traced. */
  traceOfStep?: ((number: number) => TraceContext | undefined) | undefined
  /** Observes the calls of the model. */
  modelCalls?: ModelCallObserver | undefined
  /** Ends the turn. It then rejects with the signal's reason immediately. */
  signal: AbortSignal
  /** Called with each part of the reply while the model writes it. */
  onDelta?: ((text: string) => void) | undefined
}

export interface TurnResult {
  reply: string
  /** `stop`, `length` if the reply was cut, `tool-calls` if the steps ran out, or another term of the model library. */
  finishReason: string
  /** The tokens of all steps of the run. */
  usage: Usage
  /** The messages for the transcript: the user's message, and those of the model and the tools. */
  messages: Json[]
  /** The last call of the model, which is stored with the end of the run. Absent if the turn was stopped. */
  lastStep?: Step
  /** True: the history was too long for the model, so that it read only a part, or none of it. */
  isShortened?: boolean
  /** Why the turn ended before a call of the model. */
  stopped?: RunError
}

/** Thrown by a turn that cannot go on before a person has answered. Another attempt continues it. */
export class SuspendedTurn extends Error {
  override readonly name = 'SuspendedTurn'
}

/** Throws `model_failed` (a `ModelError`), a `SuspendedTurn`, the error of `record`, or the signal's reason. */
export type RunTurn = (input: TurnInput) => Promise<TurnResult>

export interface TurnDeps {
  invoke: Invoke
  /** Lists the tools that the turn may call. */
  tools(subject: Subject): readonly Tool[]
  /** Where the descriptions of these tools came from. */
  describedBy(subject: Subject): Provenance
  /** What the policy says of a call. */
  check(subject: Subject, tool: string): CallCheck
  log: Log
  /** How often a model call that fails without an answer is repeated, after Retry-After or after 2 s, 4 s and so on. */
  maxRetries?: number
}

export function createTurn({ maxRetries = 2, ...deps }: TurnDeps): RunTurn {
  return async (input) => {
    // Also aborts the request of a reply that was cut.
    const over = new AbortController()
    try {
      const signal = AbortSignal.any([input.signal, over.signal])
      return await untilAborted(takeTurn({ ...deps, maxRetries }, input, signal), input.signal)
    } catch (error) {
      if (input.signal.aborted) throw input.signal.reason
      throw error
    } finally {
      over.abort()
    }
  }
}

async function takeTurn(deps: Required<TurnDeps>, input: TurnInput, signal: AbortSignal): Promise<TurnResult> {
  const { maxSteps } = input.agent
  const opening: Json = { role: 'user', content: input.prompt }
  const conversation = createConversation(input.steps, input.model.ref)
  const calls = createCalls(deps, { input, conversation, signal })
  await calls.tools.finish()
  if (calls.tools.isWaiting()) throw new SuspendedTurn()
  const callModel = await openModel(deps, input, signal)
  const limits = createOutputLimits()
  let { history } = input
  /** Makes the call again with a shorter history, if that is why the model cannot read the prompt. */
  const callFitting = async (call: Omit<ModelCall, 'messages'>): Promise<ModelAnswer> => {
    try {
      return await callModel({ ...call, messages: [...history, opening, ...conversation.messages()] })
    } catch (error) {
      if (!(error instanceof ModelError) || !error.isTooLong || history.length === 0) throw error
      const isFirst = history === input.history
      // A little more than half, so that of an even number of equal turns half is left.
      history = isFirst ? trimHistory(history, { turns: history.length, tokens: estimateTokens(history) * 0.55 }) : []
      deps.log.warn(
        { runId: input.runId, model: input.model.ref, messages: history.length },
        'the model cannot read the whole prompt; the call is made again with less of the conversation. ' +
          'Lower session.historyTokens, or begin anew with /new',
      )
      return await callFitting(call)
    }
  }
  for (;;) {
    const stopped = await input.findStop?.()
    if (stopped) return { ...createResult(conversation, { opening, finishReason: 'stopped' }), stopped }
    const isLast = conversation.exchanges.length >= maxSteps - 1
    const started = startModelStep(input, conversation.count() + 1)
    input.onModelStep?.(started)
    const trace = input.traceOfStep?.(started.number)
    await input.sources.add(deps.describedBy(input.sources.subject()))
    const answer = await callFitting({ tools: deps.tools(input.sources.subject()), isLast, limits, trace })
    const step = endModelStep(started, answer, await input.model.costOf(answer.usage))
    if (isLast || answer.calls.length === 0) {
      conversation.put(step)
      const result = createResult(conversation, { opening, finishReason: answer.finishReason })
      return { ...result, lastStep: { ...step, message: null }, isShortened: history !== input.history }
    }
    await calls.tools.make(step, answer.calls)
    if (calls.tools.isWaiting()) throw new SuspendedTurn()
  }
}

function createResult(
  conversation: Conversation,
  { opening, finishReason }: { opening: Json; finishReason: string },
): TurnResult {
  return {
    // Text before a tool call is not an answer. If the steps ran out, only the last step can hold one.
    reply: conversation.reply(finishReason === 'tool-calls'),
    finishReason,
    usage: conversation.usage(),
    messages: [opening, ...conversation.transcript()],
  }
}

// ── Calls of the model ───────────────────────────────────────────────────────────────────────────

interface ModelCall {
  messages: readonly Json[]
  tools: readonly Tool[]
  /** True: the answer must be the reply, so tools are off. */
  isLast: boolean
  limits: OutputLimits
  /** The span of the call, which the model's service may continue. */
  trace: TraceContext | undefined
}

type CallModel = (call: ModelCall) => Promise<ModelAnswer>

/** Throws a `ModelError`, as the calls do. */
async function openModel(
  { log, maxRetries }: Required<TurnDeps>,
  input: TurnInput,
  signal: AbortSignal,
): Promise<CallModel> {
  const { firstTokenTimeoutMs, createError } = input.model
  const { maxOutputTokens } = input.agent
  const withModelError = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw error instanceof GatewayError ? error : createError(error)
    }
  }
  // Imported by the first turn, so that neither the start nor a request waits for it.
  const [ai, model] = await withModelError(() =>
    Promise.all([import('ai'), limitOpening(input.model.model, firstTokenTimeoutMs, input.modelCalls)]),
  )
  // The library would print its warnings; they go to the log instead (see below).
  globalThis.AI_SDK_LOG_WARNINGS = false
  const exactInputs = createExactInputs()
  const watched = ai.wrapLanguageModel({
    model,
    middleware: [
      sendWellFormed,
      failWhenUsedUp,
      exactInputs.middleware,
      limitSilence(firstTokenTimeoutMs, input.modelCalls),
    ],
  })
  const reasoning = resolveReasoning(input.thinking, input.model)

  return ({ messages, tools, isLast, limits, trace }) =>
    withModelError(async () => {
      let ended: GenerateTextStepEndEvent | undefined
      const { stream } = ai.streamText({
        model: watched,
        instructions: input.system,
        messages: messages as unknown as ModelMessage[],
        tools: declareTools(ai, tools),
        ...(isLast && { toolChoice: 'none' as const }),
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        ...(reasoning && { reasoning }),
        ...(trace && { headers: toHeaders(trace) }),
        maxRetries,
        abortSignal: signal,
        // Errors are read from the stream; the default handler would print them as well.
        onError: () => {},
        onStepEnd: (step) => {
          ended = step
          for (const warning of step.warnings ?? [])
            log.debug(
              { runId: input.runId, ...(trace && { traceId: traceIdOf(trace) }), model: input.model.ref, warning },
              'the provider reported a warning',
            )
        },
      })
      const estimateInput = () =>
        estimateTokens([input.system, messages, tools.map(({ args, description }) => [args, description])])
      return await readAnswer({ stream, ended: () => ended, estimateInput, exactInputs }, limits, input.onDelta)
    })
}

/** Without `execute`: the library would call a tool before its step is stored. */
function declareTools(ai: Pick<typeof Ai, 'jsonSchema' | 'tool'>, tools: readonly Tool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, args }) => [name, ai.tool({ description, inputSchema: ai.jsonSchema(args) })]),
  )
}

/** The library would repeat every call that got 429. */
const failWhenUsedUp: LanguageModelMiddleware = {
  wrapStream: async ({ doStream }) => {
    try {
      return await doStream()
    } catch (error) {
      throw isUsedUp(error) ? Object.assign(error as Error, { isRetryable: false }) : error
    }
  },
}

/** Some model servers refuse lone surrogates, which stored messages and a model's own text may hold. */
const sendWellFormed: LanguageModelMiddleware = {
  transformParams: async ({ params }) => ({ ...params, prompt: wellFormed(params.prompt) }),
}

type ModelCallStep = Extract<Step, { kind: 'model' }>

const startModelStep = ({ attempt, model }: TurnInput, number: number): ModelCallStep => ({
  number,
  attempt,
  kind: 'model',
  status: 'running',
  startedAt: Date.now(),
  endedAt: null,
  detail: { model: model.ref },
  content: null,
  message: null,
})

const endModelStep = (step: ModelCallStep, answer: ModelAnswer, costNanoUsd: number | undefined): ModelCallStep => {
  const { text, message, usage, finishReason, firstTokenMs, responseModel } = answer
  return {
    ...step,
    status: 'succeeded',
    endedAt: Date.now(),
    detail: {
      ...step.detail,
      usage: { ...usage, ...(costNanoUsd !== undefined && { costNanoUsd }) },
      finishReason,
      firstTokenMs: firstTokenMs && Math.round(firstTokenMs),
      responseModel,
    },
    content: { text },
    message,
  }
}

// ── Calls of tools ───────────────────────────────────────────────────────────────────────────────

interface CallsContext {
  input: TurnInput
  conversation: Conversation
  signal: AbortSignal
}

function createCalls({ invoke, check }: TurnDeps, { input, conversation, signal }: CallsContext) {
  const { sources } = input
  const tools = createToolCalls({
    conversation,
    attempt: input.attempt,
    check: (tool) => check(sources.subject(), tool),
    call: async (tool, args, { number, approved }) => {
      await input.authorize?.()
      return await invoke({
        tool,
        args: wellFormed(args),
        subject: sources.subject(),
        runId: input.runId,
        trace: input.traceOfStep?.(number),
        signal,
        approved,
        sources,
      })
    },
    record: (steps, asked) => input.record(steps, conversation.count(), asked),
    approvals: input.approvals,
  })
  return { tools }
}
