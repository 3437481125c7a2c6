// Reads one answer of a model from its stream: the text, the tool calls that it asks for, and the usage.
import type { GenerateTextStepEndEvent, LanguageModelUsage, TextStreamPart, ToolSet } from 'ai'
import type { Json } from '../plugin/plugin.ts'
import type { StepUsage } from '../store/run-spec.ts'
import { wellFormed } from '../well-formed.ts'
import type { ExactInputs } from './exact-inputs.ts'
import { partsOf } from './conversation.ts'
import { BrokenStreamError } from './model-error.ts'
import { countTokens } from './history.ts'
import { createReasoningFilter, type ReasoningFilter, removeReasoning, removeUpToClosing } from './reasoning-text.ts'
import { readUsage } from './usage.ts'

/** The maximum length of a reply, in characters. A longer reply is cut, with a mark, and the request is aborted. */
export const maxReplyLength = 100_000
/** The maximum output of one turn, including reasoning and tool arguments, in characters. */
export const maxOutputLength = 2_000_000

/** A service may answer with any name. */
const maxModelNameLength = 200

/** How much a turn may still write, in characters. Reading an answer reduces it. */
export interface OutputLimits {
  reply: number
  output: number
}

export const createOutputLimits = (): OutputLimits => ({ reply: maxReplyLength, output: maxOutputLength })

export interface CallRequest {
  toolCallId: string
  toolName: string
  input: unknown
  /** Why the call cannot be made: a sentence for the model. */
  problem?: string | undefined
}

export interface ModelAnswer {
  text: string
  /** The message as the model reads it again in this turn, with what its provider added. */
  message: Json
  calls: readonly CallRequest[]
  usage: StepUsage
  /** `stop`, `length` or `content-filter` if the answer was cut, `tool-calls`, or another term of the model library. */
  finishReason: string
  firstTokenMs: number | undefined
  responseModel: string | undefined
}

type Part = TextStreamPart<ToolSet>

/** What was read so far. */
interface Reading {
  limits: OutputLimits
  text: string
  /** Keeps reasoning out of the text part that is being read. */
  filter: ReasoningFilter
  calls: Map<string, CallRequest>
  usage: LanguageModelUsage | undefined
  /** How long the prompt is, in tokens, estimated. */
  estimateInput: () => number
  /** How much of `limits.output` was left at the beginning. */
  outputBefore: number
  finishReason: string | undefined
}

interface Source {
  stream: AsyncIterable<Part>
  /** The whole step, once the stream has ended. */
  ended(): GenerateTextStepEndEvent | undefined
  estimateInput(): number
  exactInputs: Pick<ExactInputs, 'restore'>
}

/** Throws if the stream reports an error, or ends before the answer is complete. */
export async function readAnswer(
  { stream, ended, estimateInput, exactInputs }: Source,
  limits: OutputLimits,
  onDelta?: (text: string) => void,
): Promise<ModelAnswer> {
  const reading: Reading = {
    limits,
    text: '',
    filter: createReasoningFilter(),
    calls: new Map(),
    usage: undefined,
    estimateInput,
    outputBefore: limits.output,
    finishReason: undefined,
  }
  for await (const part of stream) {
    readPart(reading, part, onDelta)
    if (limits.reply < 0) return cutAnswer(reading, `[cut: the reply is longer than ${maxReplyLength} characters]`)
    if (limits.output < 0) return cutAnswer(reading, `[cut: the model wrote more than ${maxOutputLength} characters]`)
  }
  if (reading.finishReason === undefined) throw new BrokenStreamError('The stream ended without a finish.')
  const step = ended()
  const answer = createAnswer(reading, reading.finishReason)
  const message = step?.response.messages.find(({ role }) => role === 'assistant') as Json | undefined
  const calls = [...reading.calls.values()]
  const mark = calls.length === 0 && answer.text.trim() ? endMarks[answer.finishReason] : undefined
  return {
    ...answer,
    ...(mark && { text: `${answer.text}\n${mark}` }),
    message: cleanMessage(wellFormed(message ? withExactInputs(message, exactInputs) : answer.message), mark),
    calls: calls.map(exactInputs.restore),
    firstTokenMs: step?.performance.timeToFirstOutputMs,
    responseModel: step?.response.modelId.slice(0, maxModelNameLength),
  }
}

const withExactInputs = (message: Json, { restore }: Pick<ExactInputs, 'restore'>): Json => ({
  ...(message as object),
  content: partsOf(message).map((part) => (part.type === 'tool-call' ? restore(part as never) : part)),
})

/** What people read at the end of an answer that its service did not complete. */
const endMarks: Readonly<Record<string, string | undefined>> = {
  length: '[cut: the model reached its output limit]',
  'content-filter': "[cut: the content filter of the model's service ended the answer]",
}

/** The message without the reasoning in its texts, with the mark at its end. */
function cleanMessage(message: Json, mark: string | undefined): Json {
  const { content, ...rest } = message as { content: Json }
  const parts = (Array.isArray(content) ? content : [{ type: 'text', text: content }]) as MessagePart[]
  const cleaned = parts.map((part) => (isText(part) ? withText(part, removeReasoning(part.text)) : part))
  const last = cleaned.findLast(isText)
  const marked = cleaned.map((part) => (mark && part === last ? withText(part, `${last.text}\n${mark}`) : part))
  return { ...rest, content: marked as readonly object[] as Json }
}

interface MessagePart {
  type: string
  text?: Json
}

const withText = (part: MessagePart, text: string): MessagePart => ({ ...part, text })

const isText = (part: MessagePart): part is MessagePart & { text: string } =>
  part.type === 'text' && typeof part.text === 'string'

/** Ignores parts that neither the reply nor the steps need. */
function readPart(reading: Reading, part: Part, onDelta?: (text: string) => void): void {
  const { limits, calls } = reading
  if (part.type === 'text-delta') readText(reading, part.text, onDelta)
  else if (part.type === 'text-end') endText(reading, onDelta)
  else if (part.type === 'reasoning-delta') limits.output -= part.text.length
  else if (part.type === 'tool-input-delta') limits.output -= part.delta.length
  else if (part.type === 'tool-call') calls.set(part.toolCallId, { ...pickCall(part) })
  else if (part.type === 'tool-error')
    calls.set(part.toolCallId, { ...pickCall(part), problem: describeToolError(readErrorMessage(part.error)) })
  else if (part.type === 'finish-step') {
    endText(reading, onDelta)
    reading.usage = part.usage
  } else if (part.type === 'finish') reading.finishReason ??= requireComplete(part)
  else if (part.type === 'error') readError(reading, part.error)
}

const pickCall = ({ toolCallId, toolName, input }: CallRequest): CallRequest => ({ toolCallId, toolName, input })

const readErrorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type OnDelta = ((text: string) => void) | undefined

function readText(reading: Reading, text: string, onDelta: OnDelta): void {
  reading.limits.output -= text.length
  addVisible(reading, reading.filter.push(text), onDelta)
}

function endText(reading: Reading, onDelta: OnDelta): void {
  addVisible(reading, reading.filter.end(), onDelta)
  reading.filter = createReasoningFilter()
}

function addVisible(reading: Reading, text: string, onDelta: OnDelta): void {
  const { limits } = reading
  const kept = text.slice(0, Math.max(0, limits.reply))
  limits.reply -= text.length
  reading.text += kept
  if (kept) onDelta?.(kept)
}

/** A model that calls a tool although it may not has used up its steps. That is not an error of the stream. */
function readError(reading: Reading, error: unknown): void {
  if ((error as Error | undefined)?.name !== 'AI_ToolChoiceViolationError') throw error
  reading.finishReason = 'tool-calls'
}

/** Throws if the service gave a finish reason of an incomplete stream, or none. */
function requireComplete({ finishReason, rawFinishReason }: Extract<Part, { type: 'finish' }>): string {
  if (['error', 'interrupted'].includes(finishReason) || (finishReason === 'other' && rawFinishReason === undefined))
    throw new BrokenStreamError('The stream broke off.')
  return finishReason
}

const createAnswer = (reading: Reading, finishReason: string): ModelAnswer => ({
  ...createTexts(reading.text),
  calls: [],
  usage: readUsage(reading.usage, {
    inputTokens: reading.estimateInput,
    outputTokens: () => countTokens(reading.outputBefore - reading.limits.output),
  }),
  finishReason,
  firstTokenMs: undefined,
  responseModel: undefined,
})

function cutAnswer(reading: Reading, mark: string): ModelAnswer {
  reading.text += `\n${mark}`
  return createAnswer(reading, 'length')
}

function createTexts(read: string): Pick<ModelAnswer, 'text' | 'message'> {
  // Applied to the whole text, because a stream may split a surrogate pair.
  const text = removeUpToClosing(read).toWellFormed()
  return { text, message: { role: 'assistant', content: text ? [{ type: 'text', text }] : [] } }
}

const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^AI_NoSuchToolError\b/, 'There is no tool with this name; call one of those that you were given.'],
  [
    /^AI_InvalidToolInputError\b/,
    'The arguments are not valid JSON; send one JSON object that fits the schema of the tool.',
  ],
  [/^AI_\w+/, 'The call is not valid; call one of the tools that you were given, with one JSON object.'],
]

/** Errors of tools, and of the rules that refuse a call, keep their own text. */
export function describeToolError(text: string): string {
  return sentences.find(([pattern]) => pattern.test(text))?.[1] ?? text.replace(/^Error: /, '')
}
