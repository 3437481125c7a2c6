// Executes one turn: sends the prompt to the model, answers its tool calls and reads its reply. Ends when the signal
// aborts.
import type { LanguageModelMiddleware, ModelMessage } from 'ai'
import { GatewayError } from '../errors.ts'
import type { Json, Log, Tool } from '../plugin/plugin.ts'
import type { Thinking } from '../action.ts'
import { untilAborted } from '../deadline.ts'
import type { Invoke } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { wellFormed } from '../well-formed.ts'
import { limitOpening, limitSilence, type ModelCallObserver } from './model-silence.ts'
import { type Model, resolveReasoning } from './models.ts'
import { readReply, type Reply, UnfinishedReply } from './reply.ts'
import { replaceToolErrors } from './tool-error-text.ts'
import { createToolSet } from './turn-tools.ts'

export interface TurnInput {
  agent: { id: string }
  model: Model
  thinking?: Thinking | undefined
  /** The system prompt. */
  system: string
  /** The user's message. */
  prompt: string
  /** Earlier messages of the session, oldest first, already trimmed. */
  history: readonly Json[]
  /** The messages of an earlier attempt at this run. The turn continues from there. */
  progress?: readonly Json[] | undefined
  sessionKey: string
  /** What the tool policy looks at, apart from agent, session and model. */
  from?: Pick<Subject, 'channel' | 'accountId' | 'fromHook' | 'scopes' | 'initiators'>
  runId: string
  /** Observes the calls of the model. */
  modelCalls?: ModelCallObserver | undefined
  /** Ends the turn. It then rejects with the signal's reason immediately. */
  signal: AbortSignal
  /** Called with each part of the reply while the model writes it. */
  onDelta?: ((text: string) => void) | undefined
  /** Called once, before the first tool returns external content to a turn that had none. */
  onExternalContent?: (() => Promise<void>) | undefined
  /** Called with what a tool threw, of which the model reads nothing. */
  onToolError?: ((tool: string, error: unknown) => void) | undefined
}

export interface TurnResult extends Reply {
  /** The messages for the transcript: the user's message, and those of the model and the tools. */
  messages: Json[]
}

/** Throws `model_failed` (a `ModelError`), or the signal's reason. */
export type RunTurn = (input: TurnInput) => Promise<TurnResult>

export interface TurnDeps {
  invoke: Invoke
  /** Lists the tools that the turn may call. */
  tools(subject: Subject): readonly Tool[]
  log: Log
  /** The maximum number of model calls in one turn. */
  maxSteps?: number
  /** How often a model call that fails without an answer is repeated, after Retry-After or after 2 s, 4 s and so on. */
  maxRetries?: number
}

export function createTurn({ maxSteps = 16, maxRetries = 2, ...deps }: TurnDeps): RunTurn {
  return async (input) => {
    // Also aborts the request of a reply that was cut.
    const over = new AbortController()
    try {
      const signal = AbortSignal.any([input.signal, over.signal])
      const reply = await untilAborted(callModel({ ...deps, maxSteps, maxRetries }, input, signal), input.signal)
      return { ...reply, messages: [...createOpeningMessages(input), ...reply.messages] }
    } catch (error) {
      if (input.signal.aborted) throw input.signal.reason
      if (error instanceof GatewayError) throw error
      const { cause, progress } = error instanceof UnfinishedReply ? error : { cause: error, progress: [] }
      throw input.model.createError(cause, { progress: [...(input.progress ?? []), ...progress] })
    } finally {
      over.abort()
    }
  }
}

async function callModel(
  { invoke, tools, log, maxSteps, maxRetries }: Required<TurnDeps>,
  input: TurnInput,
  signal: AbortSignal,
): Promise<Reply> {
  // Imported by the first turn, so that neither the start nor a request waits for it.
  const [ai, model] = await Promise.all([
    import('ai'),
    limitOpening(input.model.model, input.model.firstTokenTimeoutMs, input.modelCalls),
  ])
  // The library would print its warnings; they go to the log instead (see below).
  globalThis.AI_SDK_LOG_WARNINGS = false
  let subject = subjectOfTurn(input)
  const onExternalContent = async (): Promise<void> => {
    if (subject.scopes) return
    subject = { ...subject, fromHook: true, scopes: [input.runId] }
    await input.onExternalContent?.()
  }
  const call = async (tool: string, args: unknown): Promise<Json> => {
    try {
      return await invoke({ tool, args: wellFormed(args), subject, runId: input.runId, signal, onExternalContent })
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'tool_failed') input.onToolError?.(tool, error.cause)
      throw error
    }
  }
  const reasoning = resolveReasoning(input.thinking, input.model)
  const { stream } = ai.streamText({
    model: ai.wrapLanguageModel({
      model,
      middleware: [sendWellFormed, limitSilence(input.model.firstTokenTimeoutMs, input.modelCalls)],
    }),
    instructions: input.system,
    messages: [...input.history, ...createOpeningMessages(input)] as unknown as ModelMessage[],
    tools: createToolSet(ai, tools(subject), call),
    stopWhen: ai.isStepCount(maxSteps),
    // The last step must be the answer, so tools are off.
    prepareStep: ({ stepNumber, messages }) => ({
      messages: replaceToolErrors(messages),
      ...(stepNumber === maxSteps - 1 && { toolChoice: 'none' }),
    }),
    ...(reasoning && { reasoning }),
    maxRetries,
    abortSignal: signal,
    // `readReply` reads errors from the stream; the default handler would print them as well.
    onError: () => {},
    onStepEnd: ({ warnings }) =>
      warnings?.forEach((warning) =>
        log.debug({ runId: input.runId, model: input.model.ref, warning }, 'the provider reported a warning'),
      ),
  })
  return await readReply(stream, input.onDelta)
}

/** Some model servers refuse lone surrogates, which stored messages and a model's own text may hold. */
const sendWellFormed: LanguageModelMiddleware = {
  transformParams: async ({ params }) => ({ ...params, prompt: wellFormed(params.prompt) }),
}

/** The caller that the tool policy sees for the calls of a turn. */
export const subjectOfTurn = ({
  agent,
  sessionKey,
  model,
  from,
}: Pick<TurnInput, 'agent' | 'sessionKey' | 'model' | 'from'>): Subject => ({
  caller: 'agent',
  agentId: agent.id,
  sessionKey,
  model: model.ref,
  ...from,
})

const createOpeningMessages = ({ prompt, progress = [] }: TurnInput): Json[] => [
  { role: 'user', content: prompt },
  ...progress,
]
