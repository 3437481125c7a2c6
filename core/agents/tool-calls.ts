// Makes the tool calls of a turn. Each is a step that is stored before the tool is called and before the model reads
// its result.
import { describeThrown, type ErrorCode, GatewayError } from '../errors.ts'
import type { Json } from '../plugin/plugin.ts'
import type { Step, ToolStep } from '../store/store.ts'
import type { CallCheck } from '../tools/check-call.ts'
import { describeBinaryContent } from './binary-content.ts'
import { callsOf, type Conversation } from './conversation.ts'
import type { CallRequest } from './model-answer.ts'
import { describeToolError } from './tool-error-text.ts'

/** The maximum length of a result that a model reads, in characters of JSON. */
export const maxResultLength = 100_000

export interface ToolCallDeps {
  conversation: Conversation
  /** Which attempt at the run this is, from 1. */
  attempt: number
  check(tool: string): CallCheck
  /** Calls a tool, as the step of this number. Throws what an HTTP caller would get. */
  call(tool: string, args: unknown, number: number): Promise<Json>
  record(steps: readonly Step[]): Promise<void>
}

type RunningCall = Extract<Step, { kind: 'tool' }>

export interface ToolCalls {
  /** Stores the answer of the model with its calls, and makes them, all at the same time. */
  make(answer: Step, requests: readonly CallRequest[]): Promise<void>
  /** Ends the calls that an earlier attempt had begun: makes them again, or tells the model that they were interrupted. */
  finish(): Promise<void>
}

export function createToolCalls({ conversation, attempt, check, call, record }: ToolCallDeps): ToolCalls {
  function begin({ toolName: tool, input }: CallRequest, number: number): RunningCall {
    const { isRepeatable: _isRepeatable, ...checked } = check(tool)
    return {
      number,
      attempt,
      kind: 'tool',
      status: 'running',
      startedAt: Date.now(),
      endedAt: null,
      detail: { tool, ...checked },
      content: { args: (input ?? {}) as Json },
      message: null,
    }
  }

  async function execute(step: RunningCall, request: CallRequest): Promise<void> {
    const { status, output, ...ended } = await attemptCall(request, () =>
      call(request.toolName, request.input, step.number),
    )
    await put({
      ...step,
      // A tool that is denied was not offered to the model.
      status: status === 'failed' && step.detail.verdict === 'deny' ? 'refused' : status,
      endedAt: Date.now(),
      detail: { ...step.detail, ...ended.detail },
      content: { ...step.content, ...ended.content },
      message: { type: 'tool-result', toolCallId: request.toolCallId, toolName: request.toolName, output },
    })
  }

  async function put(...steps: readonly Step[]): Promise<void> {
    for (const step of steps) conversation.put(step)
    await record(steps)
  }

  return {
    make: async (answer, requests) => {
      const steps = requests.map((request, index) => begin(request, answer.number + 1 + index))
      await put(answer, ...steps)
      await Promise.all(steps.map((step, index) => execute(step, requests[index] as CallRequest)))
    },
    finish: async () => {
      const { model, tools = [] } = conversation.exchanges.at(-1) ?? {}
      if (!model) return
      const requests = callsOf(model.message) as unknown as readonly CallRequest[]
      await Promise.all(
        tools.map(async (step) => {
          if (step.status !== 'running' || step.kind !== 'tool') return
          const request = requests[step.number - model.number - 1]
          if (!request) return
          if (!check(step.detail.tool).isRepeatable) return await put(interrupt(step, request))
          const again = begin(request, step.number)
          await put(again)
          await execute(again, request)
        }),
      )
    },
  }
}

const interruptedText =
  'The gateway was interrupted during this call, so its outcome is not known. It may have taken effect; check before ' +
  'you repeat it.'

const interrupt = (step: RunningCall, { toolCallId, toolName }: CallRequest): RunningCall => ({
  ...step,
  status: 'interrupted',
  endedAt: Date.now(),
  detail: { ...step.detail, error: interruptedText },
  message: { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: interruptedText } },
})

interface CallEnd extends Pick<RunningCall, 'status' | 'content'> {
  detail: Pick<ToolStep, 'error' | 'resultLength'>
  output: Json
}

const refusals: ReadonlySet<ErrorCode> = new Set(['tool_not_available', 'tool_withheld'])

async function attemptCall({ problem }: CallRequest, call: () => Promise<Json>): Promise<CallEnd> {
  if (problem !== undefined) return failedCall('failed', problem)
  try {
    const result = await call()
    const read = limitResult(describeBinaryContent(result))
    const detail = { resultLength: JSON.stringify(result).length }
    const output = { type: typeof read === 'string' ? 'text' : 'json', value: read }
    return { status: 'succeeded', detail, content: { result: read }, output }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const status = refusals.has(error.code) ? 'refused' : 'failed'
    const ended = failedCall(status, describeToolError(error.publicMessage))
    if (error.code !== 'tool_failed' || error.cause === undefined) return ended
    const { reason, cause } = describeThrown(error.cause)
    return { ...ended, content: { thrown: cause === undefined ? reason : `${reason}; ${cause}` } }
  }
}

const failedCall = (status: 'failed' | 'refused', error: string): CallEnd => ({
  status,
  detail: { error },
  content: {},
  output: { type: 'error-text', value: error },
})

function limitResult(result: Json): Json {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  return text.length > maxResultLength
    ? `${text.slice(0, maxResultLength)}\n[cut: ${text.length} characters in all]`
    : result
}
