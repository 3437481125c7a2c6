// The built-in model: a few deterministic rules that need no key and no network.
import { createHash } from 'node:crypto'
import { parseJson } from 'svc-gateway/kit'
import { defineProvider, type LanguageModel, Type } from 'svc-gateway/plugin'

type Model = Extract<LanguageModel, { specificationVersion: 'v4' }>
type Call = Parameters<Model['doStream']>[0]
type Generated = Awaited<ReturnType<Model['doGenerate']>>
type Streamed = Awaited<ReturnType<Model['doStream']>>
type StreamPart = Streamed['stream'] extends ReadableStream<infer Part> ? Part : never
type Message = Call['prompt'][number]
type FunctionTool = Extract<NonNullable<Call['tools']>[number], { type: 'function' }>

export default defineProvider({
  name: 'builtin',
  description:
    'A deterministic rules model for trying things out, without a key or network. Its only model is builtin/rules.',
  config: Type.Object({}, { additionalProperties: false }),
  pricing: () => 'free',
  async models() {
    return (modelId) => {
      if (modelId !== 'rules') throw new Error('The only model of the provider builtin is "rules".')
      return createRulesModel()
    }
  },
})

/** The result of the rules: a reply or a tool call, and why. */
interface Decision {
  because: string
  text?: string
  call?: { name: string; args: object }
}

/** Decides by the last message only. A heartbeat calls no tool. */
function decide({ prompt, tools = [], toolChoice }: Call): Decision {
  const last = prompt.findLast(({ role }) => role !== 'system')
  if (last?.role === 'tool') return answerFromTool(last)
  const message = last ? textOf(last) : ''
  const { about, task } = readMessage(message)
  const isCheck = task.includes('HEARTBEAT_OK')
  if (isCheck && !about) return { because: 'a periodic check with nothing to report', text: 'HEARTBEAT_OK' }
  if (isCheck) return acknowledge(about)
  const content = task || about
  const callable = toolChoice?.type === 'none' ? [] : tools.filter((tool) => tool.type === 'function')
  return askedTool(content, callable) ?? guessedTool(content, callable) ?? acknowledge(content)
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part.text] : [])).join('\n')
}

const fenced = /<<<OUTSIDE TEXT (\w+)>>>\n(?:.+\n)*?---\n([\s\S]*?)\n?<<<END OF OUTSIDE TEXT \1>>>/g

/**
 * Splits a message into its wrapped external content, without labels, and the task that follows. A message without
 * external content is only a task.
 */
function readMessage(message: string): { about: string; task: string } {
  const fences = [...message.matchAll(fenced)]
  const last = fences.at(-1)
  const task = last ? message.slice(last.index + last[0].length) : message
  return { about: fences.map(([, , text = '']) => text.trim()).join('\n'), task: task.trim() }
}

function answerFromTool({ content }: Extract<Message, { role: 'tool' }>): Decision {
  const texts = content.flatMap((part) =>
    part.type === 'tool-result' ? [`${part.toolName} ${outcomeOf(part.output)}`] : [],
  )
  return { because: 'a tool has answered', text: texts.join('\n') }
}

type ToolOutput = Extract<Extract<Message, { role: 'tool' }>['content'][number], { type: 'tool-result' }>['output']

function outcomeOf(output: ToolOutput): string {
  if (output.type === 'error-text') return `failed: ${output.value}`
  if (output.type === 'text') return `returned ${output.value}.`
  return `returned ${JSON.stringify('value' in output ? output.value : null)}.`
}

/** `/tool_name {"json": "arguments"}` calls a tool explicitly. */
function askedTool(content: string, tools: FunctionTool[]): Decision | undefined {
  const [, name, json] = /(?:^|\s)\/(\w+)[ \t]*(\{[\s\S]*\})?/.exec(content) ?? []
  if (!name || !tools.some((tool) => tool.name === name)) return undefined
  try {
    return { because: `the message asks for ${name}`, call: { name, args: parseJson('', json ?? '{}') as object } }
  } catch {
    return {
      because: 'the arguments are not JSON',
      text: `What follows /${name} is not a JSON object, so nothing was called.`,
    }
  }
}

/** Finds the tool that shares most words with the message, if the message also contains its required arguments. */
function guessedTool(content: string, tools: FunctionTool[]): Decision | undefined {
  const words = wordsOf(content)
  const candidates = tools
    .filter(({ name }) => !neverGuessed.has(name))
    .map((tool) => ({ tool, shared: sharedWords(tool, words), args: fillSlots(tool, content) }))
    .filter((candidate) => candidate.shared > 0 && candidate.args !== undefined)
    .toSorted((a, b) => b.shared - a.shared || (a.tool.name < b.tool.name ? -1 : 1))
  const [best] = candidates
  return (
    best?.args && {
      because: `the message has ${best.shared} words in common with ${best.tool.name}`,
      call: { name: best.tool.name, args: best.args },
    }
  )
}

/** Tools with irreversible effects must be called explicitly. */
const neverGuessed: ReadonlySet<string> = new Set([
  'cron',
  'edit',
  'exec',
  'gateway',
  'message',
  'sessions_send',
  'sessions_spawn',
  'write',
])

/** Words of at least three letters, in singular form. */
const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\d]{3,}/gu) ?? []).map((word) => word.replace(/s$/, '')))

/**
 * 0 unless words of the tool's name match: one word if arguments confirm the guess, else all of them.
 */
function sharedWords({ name, description = '', inputSchema }: FunctionTool, words: Set<string>): number {
  const ofName = wordsOf(name.replaceAll('_', ' '))
  const enough = inputSchema.required?.length ? 1 : Math.max(ofName.size, 1)
  return overlap(ofName, words) >= enough ? overlap(new Set([...ofName, ...wordsOf(description)]), words) : 0
}

const overlap = (some: Set<string>, others: Set<string>): number => [...some].filter((word) => others.has(word)).length

/** Finds a value for every required argument, or returns `undefined`. */
function fillSlots({ inputSchema }: FunctionTool, content: string): Record<string, unknown> | undefined {
  const { required = [], properties = {} } = inputSchema as { required?: string[]; properties?: Record<string, Slot> }
  const slots = required.map((name) => [name, findValue(name, properties[name] ?? {}, content)] as const)
  return slots.every(([, value]) => value !== undefined) ? Object.fromEntries(slots) : undefined
}

interface Slot {
  type?: string
  enum?: unknown[]
}

function findValue(name: string, slot: Slot, content: string): unknown {
  const words = wordsOf(content)
  if (slot.enum) return slot.enum.find((value) => words.has(String(value).toLowerCase().replace(/s$/, '')))
  // "city: Oslo" and "city=Oslo" take precedence over looser matches.
  const named = Array.from(content.matchAll(/\b(\w+)\s*[:=]\s*"?([^\s",]+)/g)).find(
    ([, key]) => key?.toLowerCase() === name.toLowerCase(),
  )?.[2]
  if (slot.type === 'number' || slot.type === 'integer') return numberIn(named ?? content)
  if (slot.type === 'boolean') return named === undefined ? undefined : named === 'true'
  return slot.type === 'string'
    ? (named ?? /\b(?:in|for|of|to|at)\s+(\p{Lu}[\p{L}\d-]*)/u.exec(content)?.[1])
    : undefined
}

function numberIn(text: string): number | undefined {
  const [digits] = /-?\d+(?:\.\d+)?/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** How much of a message is repeated, in characters. */
const maxEcho = 2000

/** It names no tool: other sessions may get the reply as an event, where the name would look like a request. */
function acknowledge(content: string): Decision {
  const text = content.replace(/\s+/g, ' ').trim()
  const echo = text.length > maxEcho ? `${text.slice(0, maxEcho)}…` : text
  return {
    because: 'no tool fits',
    text: `Received: ${echo}\n(This is the built-in rules model; no AI provider is configured.)`,
  }
}

function createRulesModel(): Model {
  return {
    specificationVersion: 'v4',
    provider: 'builtin',
    modelId: 'rules',
    supportedUrls: {},
    doGenerate: async (call) => generate(call),
    doStream: async (call) => ({ stream: ReadableStream.from(streamParts(generate(call), call.abortSignal)) }),
  }
}

function generate(call: Call): Generated {
  const decision = decide(call)
  const thoughts =
    call.reasoning && call.reasoning !== 'none' && call.reasoning !== 'provider-default' ? `${decision.because}.` : ''
  const answer = decision.call ? JSON.stringify(decision.call.args) : (decision.text ?? '')
  return {
    content: [
      ...(thoughts ? [{ type: 'reasoning' as const, text: thoughts }] : []),
      decision.call
        ? { type: 'tool-call' as const, toolCallId: callId(call), toolName: decision.call.name, input: answer }
        : { type: 'text' as const, text: answer },
    ],
    finishReason: { unified: decision.call ? 'tool-calls' : 'stop', raw: undefined },
    usage: estimateUsage(call, { answer, thoughts }),
    warnings: [],
  }
}

/** The same prompt always gets the same id. */
const callId = ({ prompt }: Call): string =>
  `call_${createHash('sha256').update(JSON.stringify(prompt)).digest('hex').slice(0, 16)}`

function estimateUsage(
  { prompt }: Call,
  { answer, thoughts }: { answer: string; thoughts: string },
): Generated['usage'] {
  const input = tokens(
    prompt.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))).join(''),
  )
  const [text, reasoning] = [tokens(answer), tokens(thoughts)]
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: text + reasoning, text, reasoning },
  }
}

const tokens = (text: string): number => Math.ceil(text.length / 4)

/** Streams a generated answer, its text word by word. */
async function* streamParts(
  { content, finishReason, usage }: Generated,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  for (const [index, part] of content.entries()) {
    signal?.throwIfAborted()
    const id = String(index)
    if (part.type === 'tool-call') yield part
    if (part.type !== 'text' && part.type !== 'reasoning') continue
    yield { type: `${part.type}-start`, id }
    for (const delta of part.text.match(/\S+\s*|\s+/g) ?? []) yield { type: `${part.type}-delta`, id, delta }
    yield { type: `${part.type}-end`, id }
  }
  yield { type: 'finish', usage, finishReason }
}
