// Reads a model's stream to its end, and returns the reply, the messages for the transcript and the usage.
import type { TextStreamPart, ToolSet } from 'ai'
import type { Json } from '../plugin/plugin.ts'
import type { Usage } from '../store/run-spec.ts'
import { wellFormed } from '../well-formed.ts'
import { BrokenStreamError } from './model-error.ts'
import { describeToolError } from './tool-error-text.ts'

/** The maximum length of a reply, in characters. A longer reply is cut, with a mark, and the request is aborted. */
export const maxReplyLength = 100_000
/** The maximum output of one turn, including reasoning and tool arguments, in characters. */
export const maxOutputLength = 2_000_000

export interface Reply {
  reply: string
  /** The messages of the model and the tools, in the model library's format. */
  messages: Json[]
  usage: Usage
  /** `stop`, `length` if the reply was cut, `tool-calls` if the steps ran out, or another term of the model library. */
  finishReason: string
}

type Part = TextStreamPart<ToolSet>

interface Step {
  text: string
  calls: { toolCallId: string; toolName: string; input: unknown }[]
  results: { toolCallId: string; toolName: string; output: Json }[]
}

/** What was read so far. */
interface Reading {
  steps: Step[]
  usage: Usage
  /** Characters that the model has written, reasoning and tool arguments included. */
  outputLength: number
  replyLength: number
  finishReason: string | undefined
}

/** Throws `UnfinishedReply` if the stream reports an error, or ends before the reply is complete. */
export async function readReply(stream: AsyncIterable<Part>, onDelta?: (text: string) => void): Promise<Reply> {
  const reading: Reading = { steps: [], usage: createUsage(), outputLength: 0, replyLength: 0, finishReason: undefined }
  try {
    return await readAll(reading, stream, onDelta)
  } catch (error) {
    throw new UnfinishedReply(error, reading.steps.filter(({ results }) => results.length > 0).flatMap(createMessages))
  }
}

/** The stream failed. `progress` holds the completed steps: tool calls with their results. */
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
    readPart(reading, part, onDelta)
    if (reading.replyLength > maxReplyLength)
      return cutReply(reading, `[cut: the reply is longer than ${maxReplyLength} characters]`)
    if (reading.outputLength > maxOutputLength)
      return cutReply(reading, `[cut: the model wrote more than ${maxOutputLength} characters]`)
  }
  if (reading.finishReason === undefined) throw new BrokenStreamError('The stream ended without a finish.')
  return createReply(reading, reading.finishReason)
}

/** Ignores parts that the reply and the transcript do not need. */
function readPart(reading: Reading, part: Part, onDelta?: (text: string) => void): void {
  if (part.type === 'start-step') reading.steps.push({ text: '', calls: [], results: [] })
  else if (part.type === 'reasoning-delta') reading.outputLength += part.text.length
  else if (part.type === 'tool-input-delta') reading.outputLength += part.delta.length
  else if (part.type === 'finish-step') addUsage(reading.usage, part.usage)
  else if (part.type === 'finish') reading.finishReason ??= requireComplete(part)
  else if (part.type === 'error') readError(reading, part.error)
  else readContent(reading, part, onDelta)
}

/** A model that calls a tool in the last step has used up its steps. That is not an error of the stream. */
function readError(reading: Reading, error: unknown): void {
  if ((error as Error | undefined)?.name !== 'AI_ToolChoiceViolationError') throw error
  reading.finishReason = 'tool-calls'
}

function readContent(reading: Reading, part: Part, onDelta?: (text: string) => void): void {
  const step = reading.steps.at(-1)
  if (!step) return
  if (part.type === 'text-delta') readText(reading, { step, text: part.text, onDelta })
  else if (part.type === 'tool-call') step.calls.push(part)
  else if (part.type === 'tool-result')
    step.results.push({ ...pickTool(part), output: { type: 'json', value: part.output as Json } })
  else if (part.type === 'tool-error')
    step.results.push({
      ...pickTool(part),
      output: { type: 'error-text', value: describeToolError(readErrorMessage(part.error)) },
    })
}

function readText(
  reading: Reading,
  { step, text, onDelta }: { step: Step; text: string; onDelta: ((text: string) => void) | undefined },
): void {
  const kept = text.slice(0, Math.max(0, maxReplyLength - reading.replyLength))
  reading.outputLength += text.length
  reading.replyLength += text.length
  step.text += kept
  if (kept) onDelta?.(kept)
}

const pickTool = ({ toolCallId, toolName }: { toolCallId: string; toolName: string }) => ({ toolCallId, toolName })

const readErrorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Throws if the service gave a finish reason of an incomplete stream, or none. */
function requireComplete({ finishReason, rawFinishReason }: Extract<Part, { type: 'finish' }>): string {
  if (['error', 'interrupted'].includes(finishReason) || (finishReason === 'other' && rawFinishReason === undefined))
    throw new BrokenStreamError('The stream broke off.')
  return finishReason
}

function createReply(reading: Reading, finishReason: string): Reply {
  const texts = reading.steps.map(({ text }) => text.trim()).filter(Boolean)
  // Text before a tool call is not an answer. If the steps ran out, only the last step can hold one.
  const reply = finishReason === 'tool-calls' ? reading.steps.at(-1)?.text.trim() : texts.at(-1)
  // Applied to whole texts, because a stream may split a surrogate pair.
  return {
    reply: (reply ?? '').toWellFormed(),
    messages: wellFormed(reading.steps.flatMap(createMessages)),
    usage: reading.usage,
    finishReason,
  }
}

function cutReply(reading: Reading, mark: string): Reply {
  const step = reading.steps.at(-1)
  if (step) step.text += `\n${mark}`
  return createReply(reading, 'length')
}

/**
 * Converts a step into messages. Data that only its provider understands (reasoning, ids, signatures) is left out: it
 * expires, and a session may change its model. Calls without a result are left out too: providers refuse a conversation
 * that holds one.
 */
function createMessages({ text, calls, results }: Step): Json[] {
  const answered = calls.filter(({ toolCallId }) => results.some((result) => result.toolCallId === toolCallId))
  const content = [
    ...(text ? [{ type: 'text', text }] : []),
    ...answered.map(({ toolCallId, toolName, input }) => ({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: toObject(input),
    })),
  ]
  const assistant = content.length ? [{ role: 'assistant', content }] : []
  return results.length
    ? [...assistant, { role: 'tool', content: results.map((result) => ({ type: 'tool-result', ...result })) }]
    : assistant
}

/** Replaces arguments that are not an object by an empty object. */
const toObject = (input: unknown): Json =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Json) : {}

const createUsage = (): Usage => ({
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
