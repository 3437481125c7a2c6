// The provider contract accepts a correct provider and finds each of many faults.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { defineProvider, type LanguageModel, type Log, Type } from '../../core/plugin/plugin.ts'
import { startOpenAiChat } from '../doubles/openai.ts'
import { answerFor } from '../doubles/wire.ts'
import { expectFailure } from './expect-failure.ts'
import { expectTable } from './mutant-table.ts'
import { type ProviderAnswer, providerContract } from './provider.ts'
import { providerChecks } from './provider-checks.ts'

type Fault =
  | 'accepts any model'
  | 'answers nothing'
  | 'calls no tools'
  | 'cannot generate'
  | 'counts no tokens'
  | 'counts no tokens of whole replies'
  | 'drops the ids of tool calls'
  | 'generates no tool calls'
  | 'ignores the abort'
  | 'gives the name of a model'
  | 'parses the arguments of tool calls'
  | 'drops the wait time of a rate limit'
  | 'has errors without a status'
  | 'has its key in an error'
  | 'has its key in the log'
  | 'has the prompt in the log'
  | 'loses a part of the reply'
  | 'takes a broken reply for a whole one'
  | 'streams at the end'

type Model = Extract<LanguageModel, { specificationVersion: 'v4' }>
type Stream = Awaited<ReturnType<Model['doStream']>>['stream']
type Part = Stream extends ReadableStream<infer Part> ? Part : never

const house = (fault?: Fault) =>
  defineProvider<{ baseUrl: string; apiKey: string }>({
    name: 'house',
    description: 'Models of the house.',
    config: Type.Object({
      baseUrl: Type.String({ description: 'Address.' }),
      apiKey: Type.String({ secret: true, description: 'Key.' }),
    }),
    async models({ baseUrl, apiKey }, { name, log }) {
      if (fault === 'has its key in the log') log.info({ apiKey }, 'opening')
      const includeUsage = fault !== 'counts no tokens'
      const server = createOpenAICompatible({ name, baseURL: baseUrl, apiKey, includeUsage })
      return (modelId) => {
        if (modelId !== 'large' && fault !== 'accepts any model') throw new Error('The only model is "large".')
        return fault === 'gives the name of a model'
          ? (modelId as never)
          : spoil(server(modelId), { fault, apiKey, log })
      }
    },
  })

/** Changes the parts of the stream. */
const changes: Partial<Record<Fault, (part: Part) => Part[]>> = {
  'answers nothing': (part) => (part.type === 'text-delta' ? [] : [part]),
  'drops the ids of tool calls': (part) => [part.type === 'tool-call' ? { ...part, toolCallId: '' } : part],
  'loses a part of the reply': (part) =>
    part.type === 'text-delta' ? [Object.assign({}, part, { delta: part.delta.slice(1) })] : [part],
  'calls no tools': (part) => (part.type === 'tool-call' ? [] : [part]),
  'counts no tokens': (part) => [part.type === 'finish' ? { ...part, usage: noUsage } : part],
  'parses the arguments of tool calls': (part) => {
    if (part.type === 'tool-call') JSON.parse(part.input)
    return [part]
  },
}

const noUsage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}

interface Spoiling {
  fault: Fault | undefined
  apiKey: string
  log: Log
}

/** What is thrown in the place of an error of the service. */
function spoilError(error: unknown, { fault, apiKey }: Spoiling): unknown {
  const { statusCode } = error as { statusCode?: number }
  if (fault === 'has errors without a status') return new Error('The model failed.')
  if (fault === 'has its key in an error') return Object.assign(new Error(`${apiKey} is refused.`), { statusCode })
  if (fault === 'drops the wait time of a rate limit') return Object.assign(new Error('Wait.'), { statusCode })
  return error
}

const spoil = (model: Model, { fault, ...rest }: Spoiling): Model => ({
  specificationVersion: model.specificationVersion,
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: model.supportedUrls,
  async doGenerate(call) {
    if (fault === 'cannot generate') throw new Error('not supported')
    const result = await model.doGenerate(call)
    if (fault === 'counts no tokens of whole replies') return { ...result, usage: noUsage }
    if (fault !== 'generates no tool calls') return result
    return { ...result, content: result.content.filter(({ type }) => type !== 'tool-call') }
  },
  async doStream({ abortSignal, ...call }) {
    const signal = fault === 'ignores the abort' || !abortSignal ? {} : { abortSignal }
    if (fault === 'has the prompt in the log') rest.log.debug({ prompt: call.prompt }, 'calling')
    const started = model.doStream({ ...call, ...signal })
    const { stream, ...result } = await Promise.resolve(started).catch((error: unknown) => {
      throw spoilError(error, { fault, ...rest })
    })
    return { ...result, stream: ReadableStream.from(changed(stream, fault)) }
  },
})

async function* changed(stream: Stream, fault: Fault | undefined): AsyncGenerator<Part> {
  const change = (fault && changes[fault]) ?? ((part: Part) => [part])
  const held: Part[] = []
  try {
    for await (const part of stream) {
      if (fault === 'streams at the end') held.push(part)
      else if (fault !== 'takes a broken reply for a whole one' || part.type !== 'error') yield* change(part)
    }
  } catch (error) {
    if (fault !== 'takes a broken reply for a whole one') throw error
  }
  yield* held
}

async function open(answer: ProviderAnswer) {
  const wire = await startOpenAiChat()
  wire.otherwise(answerFor(answer))
  return { config: { baseUrl: `${wire.url}/v1`, apiKey: 'the-key-of-the-house' }, modelId: 'large', close: wire.close }
}

providerContract(house(), open, { unknownModelId: 'huge' })

type Mutant = [Fault, string, ...string[]]

const mutants: readonly Mutant[] = [
  ['accepts any model', 'throws for an unknown model'],
  ['answers nothing', 'streams a reply and counts tokens'],
  ['calls no tools', 'streams tool calls'],
  ['cannot generate', 'returns a whole reply and counts tokens', 'returns tool calls'],
  ['counts no tokens', 'streams a reply and counts tokens'],
  ['counts no tokens of whole replies', 'returns a whole reply and counts tokens'],
  ['drops the ids of tool calls', 'streams tool calls'],
  ['gives the name of a model', 'streams a reply and counts tokens'],
  ['generates no tool calls', 'returns tool calls'],
  ['ignores the abort', 'ends a reply whose signal aborts', 'does not start with an aborted signal'],
  ['parses the arguments of tool calls', 'streams a tool call with broken arguments as it is'],
  ['drops the wait time of a rate limit', 'passes on the status of an error and its wait time'],
  ['has errors without a status', 'passes on the status of an error and its wait time'],
  ['has its key in an error', 'keeps its key and the prompts to itself'],
  ['has its key in the log', 'keeps its key and the prompts to itself'],
  ['has the prompt in the log', 'keeps its key and the prompts to itself'],
  ['loses a part of the reply', 'streams a reply and counts tokens'],
  ['takes a broken reply for a whole one', 'fails when a reply breaks off'],
  ['streams at the end', 'streams the beginning of a reply before its end'],
]

describe('the provider contract', () => {
  it.each<Mutant>(mutants)('finds a provider that %s', async (fault, ...names) => {
    const checks = providerChecks(house(fault), open, { unknownModelId: 'huge', waitMs: 500 })
    for (const name of names) await expectFailure(checks, name)
    expect(names.length).toBeGreaterThan(0)
  })

  it('has the mutants of the table', () =>
    expectTable('Providers', mutants, providerChecks(house(), open, { unknownModelId: 'huge' })))
})
