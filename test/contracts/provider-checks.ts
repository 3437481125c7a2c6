// The checks of the provider contract, as functions: the suite runs them, and a test runs them on faulty providers.
import { generateText, jsonSchema, streamText, tool } from 'ai'
import { expect } from 'vitest'
import { findFaults } from '../../core/loader/verify.ts'
import type { LanguageModel, Provider } from '../../core/plugin/plugin.ts'
import { within } from './channel-gateway.ts'
import type { Check } from './check.ts'
import { createTestContext } from './context.ts'

/** What the model has to answer to the prompt of a test, whether it is asked for a stream or not. */
export type ProviderAnswer =
  /** With `hangs`, the model sends the text and then nothing more, not even the end. */
  | { text: string; hangs?: true }
  /** A call of a tool. `args` is what the model writes: JSON, or in one test half of it. */
  | { tool: string; args: string }

export interface ProviderCase<Config> {
  config: Config
  /** A model that gives the answer of the test. */
  modelId: string
  /** The prompt that makes it do so. Default: `Say something.` */
  prompt?: string
}

/** What a provider or the double of its model server may not be able to do. */
export type ProviderAbility =
  /** To send half of the arguments of a tool call. */
  | 'brokenArguments'
  /** To answer without a stream. */
  | 'generate'
  /** To stop in the middle of an answer. */
  | 'hangs'
  | 'tools'

export type OpenProviderCase<Config> = (
  answer: ProviderAnswer,
) => Promise<ProviderCase<Config> & { close?(): Promise<void> }>

export interface ProviderOptions {
  /** A model that the provider does not have; leave it out if the provider cannot tell. */
  unknownModelId?: string
  /** What is not tested. */
  without?: readonly ProviderAbility[]
  /** How long to wait for what must happen. */
  waitMs?: number
}

/** A model that has been opened, and the prompt for it. */
interface Opened {
  model: LanguageModel
  prompt: string
  waitMs: number
}

interface ProviderCheck {
  name: string
  advice: string
  needs?: readonly ProviderAbility[]
  answer: ProviderAnswer
  use(opened: Opened): Promise<void>
}

export function providerChecks<Config>(
  provider: Provider<Config>,
  openCase: OpenProviderCase<Config>,
  { unknownModelId, without = [], waitMs = 10_000 }: ProviderOptions = {},
): Check[] {
  const open = async (answer: ProviderAnswer, use: (models: Models, opened: ProviderCase<Config>) => Promise<void>) => {
    const opened = await openCase(answer)
    try {
      await use(await provider.models(opened.config, { name: 'test', log: createTestContext().log }), opened)
    } finally {
      await opened.close?.()
    }
  }
  const tested = checks.filter(({ needs = [] }) => !needs.some((need) => without.includes(need)))
  return [
    {
      name: 'is declared without fault',
      advice: 'Correct the declaration.',
      run: () => expect(findFaults(provider)).toEqual([]),
    },
    ...tested.map(({ name, advice, answer, use }) => ({
      name,
      advice,
      run: () =>
        open(answer, async (models, { modelId, prompt = 'Say something.' }) => {
          const model = models(modelId)
          expect(model, 'the model must be an object of the AI SDK').toBeTypeOf('object')
          await use({ model, prompt, waitMs })
        }),
    })),
    ...(unknownModelId === undefined
      ? []
      : [
          {
            name: 'throws for an unknown model',
            advice: 'Throw an error with a sentence when `models` is asked for a model that does not exist.',
            run: () => open({ text }, async (models) => expect(() => models(unknownModelId)).toThrow()),
          },
        ]),
  ]
}

type Models = (modelId: string) => LanguageModel

const text = 'Tea is ready.'
const [toolName, args] = ['look_up', { city: 'Rome' }]
const call = { tool: toolName, args: JSON.stringify(args) }
const broken = { tool: toolName, args: '{"city":"Ro' }
const tools = {
  [toolName]: tool({
    description: 'Looks up a city.',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }),
  }),
}

const abortAdvice = 'Pass the `abortSignal` of the call to the request.'
const toolAdvice = 'Return each call of a tool with its id, its name and its arguments, as the model wrote them.'

const checks: readonly ProviderCheck[] = [
  {
    name: 'streams a reply and counts tokens',
    advice: 'Stream the text of the model, and report the input and output tokens at the end.',
    answer: { text },
    use: streamsReply,
  },
  {
    name: 'streams the beginning of a reply before its end',
    advice: 'Pass on each part of the text as it arrives, instead of waiting for the whole reply.',
    needs: ['hangs'],
    answer: { text, hangs: true },
    use: streamsEarly,
  },
  {
    name: 'returns a whole reply and counts tokens',
    advice: 'Let `doGenerate` return the same reply as `doStream`, with the tokens.',
    needs: ['generate'],
    answer: { text },
    use: generatesReply,
  },
  {
    name: 'does not start with an aborted signal',
    advice: abortAdvice,
    answer: { text },
    use: startsNothing,
  },
  {
    name: 'ends a reply whose signal aborts',
    advice: abortAdvice,
    needs: ['hangs'],
    answer: { text, hangs: true },
    use: stops,
  },
  { name: 'streams tool calls', advice: toolAdvice, needs: ['tools'], answer: call, use: streamsCall },
  { name: 'returns tool calls', advice: toolAdvice, needs: ['generate', 'tools'], answer: call, use: generatesCall },
  {
    name: 'streams a tool call with broken arguments as it is',
    advice: 'Pass on the arguments of a tool call as text, and parse nothing: the model reads what is wrong with them.',
    needs: ['brokenArguments', 'tools'],
    answer: broken,
    use: passesOnBroken,
  },
]

interface Usage {
  inputTokens: number | undefined
  outputTokens: number | undefined
}

function expectCounted({ inputTokens, outputTokens }: Usage): void {
  const counted = { inputTokens: expect.any(Number), outputTokens: expect.any(Number) }
  expect({ inputTokens, outputTokens }, 'the tokens').toEqual(counted)
  expect((inputTokens ?? 0) + (outputTokens ?? 0), 'the sum of the tokens').toBeGreaterThan(0)
}

/** Errors come with the parts of the result. */
const quiet = { maxRetries: 0, onError: () => undefined }

async function streamsReply({ model, prompt, waitMs }: Opened): Promise<void> {
  const result = streamText({ model, prompt, ...quiet })
  expect(await within(Promise.resolve(result.text), waitMs, 'the end of the reply')).not.toBe('')
  expectCounted(await result.totalUsage)
}

async function generatesReply({ model, prompt, waitMs }: Opened): Promise<void> {
  const result = await within(generateText({ model, prompt, maxRetries: 0 }), waitMs, 'the reply')
  expect(result.text).not.toBe('')
  expectCounted(result.totalUsage)
}

async function streamsEarly({ model, prompt, waitMs }: Opened): Promise<void> {
  const stop = new AbortController()
  const reading = readStream(model, { prompt, signal: stop.signal })
  await within(reading.begun, waitMs, 'the first part of the text').finally(() => stop.abort())
  expect(reading.text()).not.toBe('')
}

/** The stream of the model itself: the AI SDK would end its own stream whatever the model does. */
async function stops({ model, prompt, waitMs }: Opened): Promise<void> {
  const stop = new AbortController()
  const reading = readStream(model, { prompt, signal: stop.signal })
  await within(reading.begun, waitMs, 'the first part of the text')
  stop.abort()
  await within(reading.ended, waitMs, 'the end of the stream, whose signal has aborted')
  expect(stop.signal.aborted).toBe(true)
}

async function startsNothing({ model, prompt, waitMs }: Opened): Promise<void> {
  const reading = readStream(model, { prompt, signal: AbortSignal.abort() })
  await within(reading.ended, waitMs, 'the end of the call, whose signal has aborted')
  expect(reading.text()).toBe('')
}

async function streamsCall({ model, prompt, waitMs }: Opened): Promise<void> {
  const result = streamText({ model, prompt, tools, ...quiet })
  const calls = await within(Promise.resolve(result.toolCalls), waitMs, 'the end of the reply')
  expect(calls).toMatchObject([{ toolName, input: args, toolCallId: expect.stringMatching(/\S/) }])
  expect(await result.finishReason).toBe('tool-calls')
}

async function generatesCall({ model, prompt, waitMs }: Opened): Promise<void> {
  const result = await within(generateText({ model, prompt, tools, maxRetries: 0 }), waitMs, 'the reply')
  expect(result.toolCalls).toMatchObject([{ toolName, input: args, toolCallId: expect.stringMatching(/\S/) }])
}

async function passesOnBroken({ model, prompt, waitMs }: Opened): Promise<void> {
  const result = streamText({ model, prompt, tools, ...quiet })
  const calls = await within(Promise.resolve(result.toolCalls), waitMs, 'the end of the reply')
  expect(calls).toMatchObject([{ toolName, invalid: true }])
}

interface Reading {
  /** Resolves with the first part of the text. */
  begun: Promise<void>
  /** Resolves when the stream has ended or failed. */
  ended: Promise<void>
  text(): string
}

function readStream(model: LanguageModel, { prompt, signal }: { prompt: string; signal: AbortSignal }): Reading {
  const begun = Promise.withResolvers<void>()
  let text = ''
  async function read(): Promise<void> {
    const content = [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }] }]
    const { stream } = await (model as StreamingModel).doStream({ prompt: content, abortSignal: signal })
    for await (const part of stream) {
      if (part.type !== 'text-delta') continue
      text += part.delta ?? ''
      begun.resolve()
    }
  }
  const ended = read().catch(() => undefined)
  return { begun: begun.promise, ended, text: () => text }
}

/** What the versions of the model object have in common. */
interface StreamingModel {
  doStream(call: { prompt: unknown[]; abortSignal: AbortSignal }): PromiseLike<{
    stream: ReadableStream<{ type: string; delta?: string }>
  }>
}
