// One turn: the prompt goes to the model, its tool calls are answered, its reply comes back; nothing outlives the
// signal.
import type { LanguageModelMiddleware, ModelMessage } from 'ai'
import { GatewayError } from '../errors.ts'
import type { Json, Log, Tool } from '../plugin.ts'
import type { Thinking } from '../action.ts'
import { untilAborted } from '../tools/deadline.ts'
import type { Invoke } from '../tools/invoke.ts'
import type { Subject } from '../tools/subject.ts'
import { wellFormed } from '../well-formed.ts'
import { type Model, resolveReasoning } from './models.ts'
import { readReply, type Reply, UnfinishedReply } from './reply.ts'
import { withToolErrors } from './tool-error-text.ts'
import { toolSet } from './turn-tools.ts'

export interface TurnInput {
  agent: { id: string }
  model: Model
  thinking?: Thinking | undefined
  /** What the agent is told about itself. */
  system: string
  /** The user's message. */
  prompt: string
  /** Earlier messages of the session, oldest first, already bounded. */
  history: readonly Json[]
  /** What an earlier attempt at this very turn has come to: it goes on from there. */
  progress?: readonly Json[] | undefined
  sessionKey: string
  /** What the tool policy looks at beside agent, session and model. */
  from?: Pick<Subject, 'channel' | 'accountId' | 'fromHook' | 'scopes' | 'initiators'>
  runId: string
  /** Ends the turn: it then rejects with the signal's reason at once. */
  signal: AbortSignal
  /** The reply as it is written. */
  onDelta?: ((text: string) => void) | undefined
  /** Called once, before a tool shows external content to a turn that had none. */
  onExternalContent?: (() => Promise<void>) | undefined
}

export interface TurnResult extends Reply {
  /** What the transcript gains: the user's message, and what the model and the tools said. */
  messages: Json[]
}

/** Throws `model_failed` (a ModelError), or the signal's reason. */
export type RunTurn = (input: TurnInput) => Promise<TurnResult>

export interface TurnDeps {
  invoke: Invoke
  /** What a turn may call. */
  tools(subject: Subject): readonly Tool[]
  log: Log
  /** Most model calls of one turn. */
  maxSteps?: number
  /**
   * Repetitions of a model call that failed before it answered; they wait as long as Retry-After says, else 2 s, 4 s …
   */
  maxRetries?: number
}

export function createTurn({ maxSteps = 16, maxRetries = 2, ...deps }: TurnDeps): RunTurn {
  return async (input) => {
    // Ends the request of a reply that was cut at its bound, too.
    const over = new AbortController()
    try {
      const signal = AbortSignal.any([input.signal, over.signal])
      const reply = await untilAborted(ask({ ...deps, maxSteps, maxRetries }, input, signal), input.signal)
      return { ...reply, messages: [...beginningOf(input), ...reply.messages] }
    } catch (error) {
      if (input.signal.aborted) throw input.signal.reason
      if (error instanceof GatewayError) throw error
      const { cause, progress } = error instanceof UnfinishedReply ? error : { cause: error, progress: [] }
      throw input.model.failure(cause, { progress: [...(input.progress ?? []), ...progress] })
    } finally {
      over.abort()
    }
  }
}

async function ask(
  { invoke, tools, log, maxSteps, maxRetries }: Required<TurnDeps>,
  input: TurnInput,
  signal: AbortSignal,
): Promise<Reply> {
  // Loaded by the first turn, so that starting and accepting never wait for it.
  const [ai, model] = await Promise.all([import('ai'), input.model.model()])
  // The library would print its warnings; ours go to the log, below.
  globalThis.AI_SDK_LOG_WARNINGS = false
  let subject = subjectOfTurn(input)
  const onExternalContent = async (): Promise<void> => {
    if (subject.scopes) return
    subject = { ...subject, fromHook: true, scopes: [input.runId] }
    await input.onExternalContent?.()
  }
  const call = (tool: string, args: unknown) =>
    invoke({ tool, args: wellFormed(args), subject, runId: input.runId, signal, onExternalContent })
  const reasoning = resolveReasoning(input.thinking, input.model)
  const { stream } = ai.streamText({
    model: ai.wrapLanguageModel({ model, middleware: sendWellFormed }),
    instructions: input.system,
    messages: [...input.history, ...beginningOf(input)] as unknown as ModelMessage[],
    tools: toolSet(ai, tools(subject), call),
    stopWhen: ai.isStepCount(maxSteps),
    // The last step is for the answer: nothing more may be called.
    prepareStep: ({ stepNumber, messages }) => ({
      messages: withToolErrors(messages),
      ...(stepNumber === maxSteps - 1 && { toolChoice: 'none' }),
    }),
    ...(reasoning && { reasoning }),
    maxRetries,
    abortSignal: signal,
    // Errors are parts of the stream, read there; the default would print them as well.
    onError: () => {},
    onStepEnd: ({ warnings }) =>
      warnings?.forEach((warning) =>
        log.debug({ runId: input.runId, model: input.model.ref, warning }, 'the provider warns'),
      ),
  })
  return await readReply(stream, input.onDelta)
}

/**
 * What an earlier version stored, and what a model says within a turn, goes back to a model server: some refuse lone
 * surrogates.
 */
const sendWellFormed: LanguageModelMiddleware = {
  transformParams: async ({ params }) => ({ ...params, prompt: wellFormed(params.prompt) }),
}

/** On whose behalf the tools of a turn are called. */
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

const beginningOf = ({ prompt, progress = [] }: TurnInput): Json[] => [{ role: 'user', content: prompt }, ...progress]
