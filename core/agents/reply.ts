// Reads a model's stream to its end: the reply, the messages for the transcript, the usage; all of it bounded.
import type { TextStreamPart, ToolSet } from 'ai'
import type { Json } from '../plugin.ts'
import type { Usage } from '../store/run-spec.ts'
import { wellFormed } from '../well-formed.ts'
import { BrokenStreamError } from './model-error.ts'
import { toolErrorText } from './tool-error-text.ts'

/** Longest reply, in characters; the rest is cut, with a mark, and the request ended. */
export const maxReplyLength = 100_000
/** Most that a model may write in one turn, thoughts and arguments included, in characters; it is cut off there. */
export const maxWritten = 2_000_000

export interface Reply {
  reply: string
  /** What the model and the tools said, as messages of the model library in plain JSON. */
  messages: Json[]
  usage: Usage
  /**
   * `stop`; `length` when the reply was cut; `tool-calls` when the steps ran out; or another word of the model library.
   */
  finishReason: string
}

type Part = TextStreamPart<ToolSet>

interface Step {
  text: string
  calls: { toolCallId: string; toolName: string; input: unknown }[]
  results: { toolCallId: string; toolName: string; output: Json }[]
}

interface Reading {
  steps: Step[]
  usage: Usage
  written: number
  replyLength: number
  finishReason: string | undefined
}

/** Throws what the stream reports as an error, and `model_failed` when it ends without saying that it is complete. */
export async function readReply(stream: AsyncIterable<Part>, onDelta?: (text: string) => void): Promise<Reply> {
  const reading: Reading = { steps: [], usage: noUsage(), written: 0, replyLength: 0, finishReason: undefined }
  try {
    return await readAll(reading, stream, onDelta)
  } catch (error) {
    throw new UnfinishedReply(error, reading.steps.filter(({ results }) => results.length > 0).flatMap(messagesOf))
  }
}

/** A stream that failed, and the steps that had been completed before: tools that were called, with their results. */
export class UnfinishedReply extends Error {
  override readonly name = 'UnfinishedReply'
  readonly progress: Json[]

  constructor(cause: unknown, progress: Json[]) {
    super('The reply is not finished.', { cause })
    this.progress = progress
  }
}

async function readAll(
  reading: Reading,
  stream: AsyncIterable<Part>,
  onDelta?: (text: string) => void,
): Promise<Reply> {
  for await (const part of stream) {
    read(reading, part, onDelta)
    if (reading.replyLength > maxReplyLength)
      return cut(reading, `[cut: the reply is longer than ${maxReplyLength} characters]`)
    if (reading.written > maxWritten) return cut(reading, `[cut: the model wrote more than ${maxWritten} characters]`)
  }
  if (reading.finishReason === undefined) throw new BrokenStreamError('The stream ended without a finish.')
  return finished(reading, reading.finishReason)
}

/** Parts that only frame these, or that a transcript has no use for, pass unread. */
function read(reading: Reading, part: Part, onDelta?: (text: string) => void): void {
  if (part.type === 'start-step') reading.steps.push({ text: '', calls: [], results: [] })
  else if (part.type === 'reasoning-delta') reading.written += part.text.length
  else if (part.type === 'tool-input-delta') reading.written += part.delta.length
  else if (part.type === 'finish-step') addUsage(reading.usage, part.usage)
  else if (part.type === 'finish') reading.finishReason ??= complete(part)
  else if (part.type === 'error') readError(reading, part.error)
  else readSaid(reading, part, onDelta)
}

/** A model that calls on though the last step is for the answer has used up its steps; that is no failure. */
function readError(reading: Reading, error: unknown): void {
  if ((error as Error | undefined)?.name !== 'AI_ToolChoiceViolationError') throw error
  reading.finishReason = 'tool-calls'
}

function readSaid(reading: Reading, part: Part, onDelta?: (text: string) => void): void {
  const step = reading.steps.at(-1)
  if (!step) return
  if (part.type === 'text-delta') readText(reading, { step, text: part.text, onDelta })
  else if (part.type === 'tool-call') step.calls.push(part)
  else if (part.type === 'tool-result')
    step.results.push({ ...toolOf(part), output: { type: 'json', value: part.output as Json } })
  else if (part.type === 'tool-error')
    step.results.push({ ...toolOf(part), output: { type: 'error-text', value: toolErrorText(messageOf(part.error)) } })
}

function readText(
  reading: Reading,
  { step, text, onDelta }: { step: Step; text: string; onDelta: ((text: string) => void) | undefined },
): void {
  const room = text.slice(0, Math.max(0, maxReplyLength - reading.replyLength))
  reading.written += text.length
  reading.replyLength += text.length
  step.text += room
  if (room) onDelta?.(room)
}

const toolOf = ({ toolCallId, toolName }: { toolCallId: string; toolName: string }) => ({ toolCallId, toolName })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A stream that broke off is told from a complete one by the reason that its service gave, or did not give. */
function complete({ finishReason, rawFinishReason }: Extract<Part, { type: 'finish' }>): string {
  if (['error', 'interrupted'].includes(finishReason) || (finishReason === 'other' && rawFinishReason === undefined))
    throw new BrokenStreamError('The stream broke off.')
  return finishReason
}

function finished(reading: Reading, finishReason: string): Reply {
  const texts = reading.steps.map(({ text }) => text.trim()).filter(Boolean)
  // What was said before a call announces it; only what the last step says is an answer where the steps ran out.
  const reply = finishReason === 'tool-calls' ? reading.steps.at(-1)?.text.trim() : texts.at(-1)
  // Whole texts only: a stream may cut a character into halves.
  return {
    reply: (reply ?? '').toWellFormed(),
    messages: wellFormed(reading.steps.flatMap(messagesOf)),
    usage: reading.usage,
    finishReason,
  }
}

function cut(reading: Reading, mark: string): Reply {
  const step = reading.steps.at(-1)
  if (step) step.text += `\n${mark}`
  return finished(reading, 'length')
}

/**
 * A step as messages. What only its provider understands (thoughts, ids, signatures) is left out: it expires, and a
 * session may change its model. So is a call without a result: providers refuse a conversation that holds one.
 */
function messagesOf({ text, calls, results }: Step): Json[] {
  const answered = calls.filter(({ toolCallId }) => results.some((result) => result.toolCallId === toolCallId))
  const content = [
    ...(text ? [{ type: 'text', text }] : []),
    ...answered.map(({ toolCallId, toolName, input }) => ({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: objectOr(input),
    })),
  ]
  const assistant = content.length ? [{ role: 'assistant', content }] : []
  return results.length
    ? [...assistant, { role: 'tool', content: results.map((result) => ({ type: 'tool-result', ...result })) }]
    : assistant
}

/** Arguments that were not even an object are kept as none. */
const objectOr = (input: unknown): Json =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Json) : {}

const noUsage = (): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
  steps: 0,
})

function addUsage(sum: Usage, usage: Extract<Part, { type: 'finish-step' }>['usage']): void {
  const { inputTokens = 0, outputTokens = 0 } = usage
  sum.inputTokens += inputTokens
  sum.outputTokens += outputTokens
  sum.cachedInputTokens += usage.inputTokenDetails.cacheReadTokens ?? 0
  sum.reasoningTokens += usage.outputTokenDetails.reasoningTokens ?? 0
  sum.totalTokens += usage.totalTokens ?? inputTokens + outputTokens
  sum.steps += 1
}
