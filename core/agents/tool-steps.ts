// The tool steps of a turn: stores each step before its tool is called, makes the call, and stores its result before the
// model reads it.
import { describeThrown, type ErrorCode, GatewayError } from '../errors.ts'
import { holdsBigInt } from '../json.ts'
import { InputError, type Json } from '../plugin/plugin.ts'
import { type AskedApprovals, parseArgs, type Step, type StoredApproval, type ToolStep } from '../store/store.ts'
import { type ApprovalReason, ApprovalRequiredError } from '../tools/approval-required.ts'
import type { CallCheck } from '../tools/check-call.ts'
import { wellFormed } from '../well-formed.ts'
import { describeBinaryContent } from './binary-content.ts'
import { callsOf, type Conversation } from './conversation.ts'
import { type CallRequest, describeToolError } from './model-answer.ts'

/** The maximum length of a result that a model reads, in characters of JSON. */
export const maxResultLength = 100_000

export interface ToolCallDeps {
  conversation: Conversation
  /** Which attempt at the run this is, from 1. */
  attempt: number
  check(tool: string): CallCheck
  /** Calls a tool, as the step of this number. Throws what an HTTP caller would get. */
  call(tool: string, args: unknown, context: CallContext): Promise<Json>
  /** Stores steps, the approvals for which they wait, and messages to approvers. */
  record(steps: readonly Step[], asked?: AskedApprovals): Promise<void>
  /** Absent: calls that need an approval are refused. */
  approvals?: StepApprovals | undefined
}

export interface CallContext {
  /** The number of its step. */
  number: number
  /** Present: a person has approved the call. */
  approved?: Pick<StoredApproval, 'beyondRuleOfTwo'> | undefined
}

/** The approvals of the calls of a run. */
export interface StepApprovals {
  /** The latest approval of a step. */
  find(step: number): StoredApproval | undefined
  /** Does the work, which asks for an approval, or throws an `InputError` if the run has asked for too many. */
  ask(work: () => Promise<void>): Promise<void>
  /** Prepares the approval of a call. */
  prepare(call: { step: number; tool: string; args: Json; reason: ApprovalReason }): Promise<AskedApprovals>
  /** Prepares the message to the approver about the end of an approved call. */
  describeEnd(approval: StoredApproval, step: Step): Promise<AskedApprovals>
  /** What the model reads about a call that was not approved. */
  renderDenial(approval: StoredApproval): string
}

type RunningCall = Extract<Step, { kind: 'tool' }>

interface AskingCall {
  step: RunningCall
  request: CallRequest
  reason: ApprovalReason
}

export interface ToolCalls {
  /** Stores the answer of the model with its calls, and makes them, all at the same time. */
  make(answer: Step, requests: readonly CallRequest[]): Promise<void>
  /**
   * Ends the calls that an earlier attempt had begun: makes them again, or tells the model that they were interrupted.
   * Makes those that were approved meanwhile.
   */
  finish(): Promise<void>
  /** Whether a call waits for its approval. */
  isWaiting(): boolean
}

export function createToolCalls({ conversation, attempt, check, call, record, approvals }: ToolCallDeps): ToolCalls {
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

  async function execute(step: RunningCall, request: CallRequest, approved?: StoredApproval): Promise<void> {
    const makeCall = () =>
      call(request.toolName, approved ? parseArgs(approved) : request.input, { number: step.number, approved })
    const end = await attemptCall(request, makeCall)
    if (end.asks && approvals) return await ask(approvals, { step, request, reason: end.asks })
    const { status, output, ...ended } = end
    const last: RunningCall = {
      ...step,
      // A tool that is denied was not offered to the model.
      status: status === 'failed' && step.detail.verdict === 'deny' ? 'refused' : status,
      endedAt: Date.now(),
      detail: { ...step.detail, ...ended.detail },
      content: { ...step.content, ...ended.content },
      message: createResult(request, output),
    }
    await put([last], approved && (await approvals?.describeEnd(approved, last)))
  }

  async function ask(stepApprovals: StepApprovals, asking: AskingCall): Promise<void> {
    try {
      await stepApprovals.ask(() => wait(stepApprovals, asking))
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      await put([endUnmade(asking.step, asking.request, { status: 'refused', error: error.message })])
    }
  }

  /** Nothing of the call has happened. */
  async function wait({ prepare }: StepApprovals, { step, request, reason }: AskingCall): Promise<void> {
    const { number, detail } = step
    const args = wellFormed((request.input ?? {}) as Json)
    const asked = await prepare({ step: number, tool: detail.tool, args, reason })
    const waiting = { status: 'waiting', detail: { ...detail, verdict: 'ask', rule: reason.rule } } as const
    await put([{ ...step, ...waiting }], asked)
  }

  async function put(steps: readonly Step[], asked?: AskedApprovals): Promise<void> {
    for (const step of steps) conversation.put(step)
    await record(steps, asked)
  }

  /** Ends a call that waited, if its approval was answered meanwhile. */
  async function takeAnswer(step: RunningCall, request: CallRequest): Promise<void> {
    const approval = approvals?.find(step.number)
    if (approval?.status === 'waiting') return
    if (approval?.status !== 'approved') {
      const text = (approval && approvals?.renderDenial(approval)) ?? 'The record of the approval is gone; ask again.'
      return await put([endUnmade(step, request, { status: 'refused', error: text })])
    }
    const begun: RunningCall = { ...step, attempt, status: 'running', startedAt: Date.now() }
    await put([begun])
    await execute(begun, request, approval)
  }

  async function finishCall(step: RunningCall, request: CallRequest): Promise<void> {
    if (step.status === 'waiting') return await takeAnswer(step, request)
    if (step.status !== 'running') return
    const approval = approvals?.find(step.number)
    // A call that nobody had been asked about yet was not made.
    const isUnasked = step.detail.verdict === 'ask' && !approval
    // An approval is for one call, whatever the tool declares.
    if (approval || (!isUnasked && !check(step.detail.tool).isRepeatable)) {
      const interrupted = endUnmade(step, request, { status: 'interrupted', error: interruptedText })
      return await put([interrupted], approval && (await approvals?.describeEnd(approval, interrupted)))
    }
    const again = begin(request, step.number)
    await put([again])
    await execute(again, request)
  }

  return {
    make: async (answer, requests) => {
      const steps = requests.map((request, index) => begin(request, answer.number + 1 + index))
      await put([answer, ...steps])
      await Promise.all(steps.map((step, index) => execute(step, requests[index] as CallRequest)))
    },
    finish: async () => {
      const { model, tools = [] } = conversation.exchanges.at(-1) ?? {}
      if (!model) return
      const requests = callsOf(model.message) as unknown as readonly CallRequest[]
      await Promise.all(
        tools.map(async (step) => {
          const request = requests[step.number - model.number - 1]
          if (request && step.kind === 'tool') await finishCall(step, request)
        }),
      )
    },
    isWaiting: () => conversation.exchanges.at(-1)?.tools.some(({ status }) => status === 'waiting') ?? false,
  }
}

const createResult = ({ toolCallId, toolName }: CallRequest, output: Json): Json => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output,
})

const interruptedText =
  'The gateway was interrupted during this call, so its outcome is not known. It may have taken effect; check before ' +
  'you repeat it.'

/** Ends a call that is not made, or not made again. The model reads the reason. */
const endUnmade = (
  step: RunningCall,
  request: CallRequest,
  { status, error }: { status: 'refused' | 'interrupted'; error: string },
): RunningCall => ({
  ...step,
  status,
  endedAt: Date.now(),
  content: { ...step.content, error },
  message: createResult(request, { type: 'error-text', value: error }),
})

interface CallEnd extends Pick<RunningCall, 'status' | 'content'> {
  detail: Pick<ToolStep, 'resultLength'>
  output: Json
  /** Present: nothing has happened, because a person must approve the call first. */
  asks?: ApprovalReason
}

const refusals: ReadonlySet<ErrorCode> = new Set([
  'tool_not_available',
  'tool_withheld',
  'approval_required',
  'forbidden',
])

async function attemptCall({ problem }: CallRequest, call: () => Promise<Json>): Promise<CallEnd> {
  if (problem !== undefined) return failedCall('failed', problem)
  try {
    const result = await call()
    const { read, length } = limitResult(describeBinaryContent(result))
    const detail = { resultLength: length }
    const output = toOutput(read)
    return { status: 'succeeded', detail, content: { result: read }, output }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const status = refusals.has(error.code) ? 'refused' : 'failed'
    const ended = failedCall(status, describeToolError(error.publicMessage))
    if (error instanceof ApprovalRequiredError) return { ...ended, asks: error.reason }
    if (error.code !== 'tool_failed' || error.cause === undefined) return ended
    const { reason, cause } = describeThrown(error.cause)
    return { ...ended, content: { ...ended.content, thrown: cause === undefined ? reason : `${reason}; ${cause}` } }
  }
}

/** The model library refuses a BigInt inside a JSON result. The model reads the same text. */
function toOutput(read: Json): Json {
  if (typeof read === 'string') return { type: 'text', value: read }
  return holdsBigInt(read) ? { type: 'text', value: JSON.stringify(read) } : { type: 'json', value: read }
}

const failedCall = (status: 'failed' | 'refused', error: string): CallEnd => ({
  status,
  detail: {},
  content: { error },
  output: { type: 'error-text', value: error },
})

function limitResult(result: Json): { read: Json; length: number } {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  const { length } = text
  const isTooLong = length > maxResultLength
  return { read: isTooLong ? `${text.slice(0, maxResultLength)}\n[cut: ${length} characters in all]` : result, length }
}
