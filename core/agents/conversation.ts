// The conversation of a turn, made of its steps: what the model reads again, and what the transcript keeps.
import type { Json } from '../plugin/plugin.ts'
import type { Usage } from '../store/run-spec.ts'
import type { Step } from '../store/store.ts'
import { isRefusedText, toPortable, toPortableOutput, toPortableToolName } from './portable-messages.ts'
import { sumUsage } from './usage.ts'

/** A call of the model, and the tool calls that it asked for. */
interface Exchange {
  model: Step
  tools: Step[]
}

export interface Conversation {
  /** The calls of the model so far. */
  readonly exchanges: readonly Exchange[]
  /** How many steps there are. */
  count(): number
  /** Adds a step, or replaces the one of its number. */
  put(step: Step): void
  /** The messages that the model reads. */
  messages(): Json[]
  /** The messages for the transcript, without what only the provider of the model understands. */
  transcript(): Json[]
  /** The text of the last answer that has one; with `last`, of the last answer. */
  reply(last: boolean): string
  usage(): Usage
}

/** `model`: the model that reads the conversation. It cannot read what the provider of another model added. */
export function createConversation(steps: readonly Step[] = [], model: string): Conversation {
  const exchanges: Exchange[] = []
  let count = 0
  const put = (step: Step): void => {
    count = Math.max(count, step.number)
    if (step.kind === 'model') exchanges.push({ model: step, tools: [] })
    else {
      const tools = exchanges.at(-1)?.tools ?? []
      const index = tools.findIndex(({ number }) => number === step.number)
      tools.splice(index === -1 ? tools.length : index, index === -1 ? 0 : 1, step)
    }
  }
  for (const step of steps) put(step)
  const texts = (): string[] => exchanges.map(({ model }) => textOf(model.message).trim())
  return {
    exchanges,
    count: () => count,
    put,
    messages: () =>
      exchanges.flatMap((exchange) => {
        const { detail } = exchange.model
        const isSameModel = 'model' in detail && detail.model === model
        if (isSameModel) return toMessages(exchange, toOwnPart)
        return toPortable(toMessages(exchange, toPlainPart), prefixOf(exchange))
      }),
    transcript: () => exchanges.flatMap((exchange) => toMessages(exchange, toPlainPart)),
    reply: (last) => (last ? texts().at(-1) : texts().findLast(Boolean)) ?? '',
    usage: () => sumUsage(exchanges.map(({ model }) => model)),
  }
}

type Part = Readonly<Record<string, Json>> & { readonly type?: Json }

export const partsOf = (message: Json): readonly Part[] => {
  const { content } = (message ?? {}) as { content?: Json }
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as readonly Part[]) : []
}

/** The tool calls of a model's message, in the order of their steps. */
export const callsOf = (message: Json): readonly Part[] => partsOf(message).filter(({ type }) => type === 'tool-call')

const textOf = (message: Json): string =>
  partsOf(message)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text as string)
    .join('')

/** A step has fewer calls than its ids have room for. */
const prefixOf = ({ model }: Exchange): string => `s${String(model.number).padStart(3, '0')}`

/** The model reads its own ids, reasoning and signatures again. */
const toOwnPart = (part: Part): Part | undefined => {
  if (isRefusedText(part)) return undefined
  return part.type === 'tool-call' ? { ...part, toolName: toPortableToolName(part['toolName'] as string) } : part
}

const toOwnResult = (part: Part): Part => ({
  ...part,
  toolName: toPortableToolName(part['toolName'] as string),
  ...toPortableOutput(part),
})

/** Calls without a result are left out: providers refuse a conversation that holds one. */
function toMessages({ model, tools }: Exchange, toPart: (part: Part) => Part | undefined): Json[] {
  const results = tools.flatMap(({ message }) => (message === null ? [] : [toOwnResult(message as Part)]))
  const answered = new Set(results.map(({ toolCallId }) => toolCallId))
  const content = partsOf(model.message)
    .filter(({ type, toolCallId }) => type !== 'tool-call' || answered.has(toolCallId as Json))
    .flatMap((part) => toPart(part) ?? [])
  return [
    ...(content.length > 0 ? [{ role: 'assistant', content }] : []),
    ...(results.length > 0 ? [{ role: 'tool', content: results }] : []),
  ]
}

/**
 * Reasoning, ids and signatures are left out of a transcript: they expire, and a session may change its model. Arguments
 * that are not an object are replaced by an empty one.
 */
function toPlainPart({ type, text = '', toolCallId = '', toolName = '', input = {} }: Part): Part | undefined {
  if (type === 'text') return (text as string).trim() === '' ? undefined : { type, text }
  return type === 'tool-call' ? { type, toolCallId, toolName, input: toObject(input) } : undefined
}

const toObject = (input: Json): Json =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}
