// The checks of the provider contract, as functions: the suite runs them, and a test runs them on faulty providers.
import { inspect } from 'node:util'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import { expect } from 'vitest'
import { findFaults } from '../../core/loader/verify.ts'
import type { LanguageModel, Provider } from '../../core/plugin/plugin.ts'
import { secretsOf, within } from './channel-gateway.ts'
import type { Check } from './check.ts'
import { createTestContext, type TestContext } from './context.ts'

/** What the model has to answer to the prompt of a test, whether it is asked for a stream or not. */
export type ProviderAnswer =
  /** With `hangs`, the model sends the text and then nothing more, not even the end. */
  | { text: string; hangs?: true; breaks?: never }
  /** The model sends the text, and then the connection breaks off, without the end of the answer. */
  | { text: string; breaks: true; hangs?: never }
  /** An error with this status of HTTP and, as `retry-after`, the time to wait. */
  | { status: number; retryAfterSeconds: number }
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
  /** To break off in the middle of an answer. */
  | 'breaks'
  /** To send half of the arguments of a tool call. */
  | 'brokenArguments'
  /** To answer with an error. */
  | 'errors'
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
  /** The text that the reply has. Absent: the case has a prompt of its own, so nobody knows. */
  text: string | undefined
  secrets: readonly string[]
  logged: TestContext['logged']
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
  const open = async (
    answer: ProviderAnswer,
    use: (models: Models, opened: ProviderCase<Config> & Pick<TestContext, 'logged'>) => Promise<void>,
  ) => {
    const opened = await openCase(answer)
    const { log, logged } = createTestContext()
    try {
      await use(await provider.models(opened.config, { name: 'test', log }), { ...opened, logged })
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
        open(answer, async (models, { config, modelId, logged, ...given }) => {
          const model = models(modelId)
          expect(model, 'the model must be an object of the AI SDK').toBeTypeOf('object')
          const text = 'text' in answer && given.prompt === undefined ? answer.text : undefined
          const secrets = secretsOf(provider.config, config)
          await use({ model, prompt: given.prompt ?? 'Say something.', text, secrets, logged, waitMs })
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
const limited = { status: 429, retryAfterSeconds: 7 }
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
  {
    name: 'fails when a reply breaks off',
    advice: 'Let the stream fail, or emit a part `error`, when the connection ends before the end of the reply.',
    needs: ['breaks'],
    answer: { text, breaks: true },
    use: failsWhenBroken,
  },
  {
    name: 'passes on the status of an error and its wait time',
    advice:
      'Throw an error with `statusCode` and `responseHeaders`, such as an APICallError of the AI SDK: the gateway tries ' +
      'again what is temporary, and waits as long as the service asks for.',
    needs: ['errors'],
    answer: limited,
    use: passesOnStatus,
  },
  {
    name: 'keeps its key and the prompts to itself',
    advice: 'Name neither the settings nor the request in errors and in the log.',
    needs: ['errors'],
    answer: { status: 401, retryAfterSeconds: 1 },
    use: keepsSecrets,
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

async function streamsReply({ model, prompt, waitMs, text }: Opened): Promise<void> {
  const result = streamText({ model, prompt, ...quiet })
  const streamed = await within(Promise.resolve(result.text), waitMs, 'the end of the reply')
  expect(streamed).not.toBe('')
  if (text !== undefined) expect(streamed).toBe(text)
  expectCounted(await result.totalUsage)
}

async function generatesReply({ model, prompt, waitMs, text }: Opened): Promise<void> {
  const result = await within(generateText({ model, prompt, maxRetries: 0 }), waitMs, 'the reply')
  expect(result.text).not.toBe('')
  if (text !== undefined) expect(result.text).toBe(text)
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

async function failsWhenBroken({ model, prompt, waitMs }: Opened): Promise<void> {
  const reading = readStream(model, { prompt, signal: new AbortController().signal })
  await within(reading.ended, waitMs, 'the end of the stream, whose connection broke off')
  expect(reading.error(), 'the error of the stream').toBeDefined()
}

async function passesOnStatus({ model, prompt, waitMs }: Opened): Promise<void> {
  const error = await errorOf({ model, prompt, waitMs })
  expect(error).toMatchObject({ statusCode: limited.status })
  const { responseHeaders } = error as { responseHeaders?: Record<string, string> }
  expect(responseHeaders).toMatchObject({ 'retry-after': String(limited.retryAfterSeconds) })
}

async function keepsSecrets({ model, prompt, waitMs, secrets, logged }: Opened): Promise<void> {
  const { message, url, responseBody } = ((await errorOf({ model, prompt, waitMs })) ?? {}) as Record<string, unknown>
  const told = inspect([message, url, responseBody, logged], { depth: 10, maxStringLength: null })
  expect([...secrets, prompt].filter((one) => told.includes(one)).length, 'secrets and prompts that are told').toBe(0)
}

async function errorOf({ model, prompt, waitMs }: Pick<Opened, 'model' | 'prompt' | 'waitMs'>): Promise<unknown> {
  const reading = readStream(model, { prompt, signal: new AbortController().signal })
  await within(reading.ended, waitMs, 'the error of the call')
  return reading.error()
}

interface Reading {
  /** Resolves with the first part of the text. */
  begun: Promise<void>
  /** Resolves when the stream has ended or failed. */
  ended: Promise<void>
  /** Why it has failed. */
  error(): unknown
  text(): string
}

function readStream(model: LanguageModel, { prompt, signal }: { prompt: string; signal: AbortSignal }): Reading {
  const begun = Promise.withResolvers<void>()
  let text = ''
  let failure: unknown
  async function read(): Promise<void> {
    const content = [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }] }]
    const { stream } = await (model as StreamingModel).doStream({ prompt: content, abortSignal: signal })
    for await (const part of stream) {
      if (part.type === 'error') failure = part.error
      if (part.type !== 'text-delta') continue
      text += part.delta ?? ''
      begun.resolve()
    }
  }
  const ended = read().catch((error: unknown) => void (failure = error))
  return { begun: begun.promise, ended, error: () => failure, text: () => text }
}

/** What the versions of the model object have in common. */
interface StreamingModel {
  doStream(call: { prompt: unknown[]; abortSignal: AbortSignal }): PromiseLike<{
    stream: ReadableStream<{ type: string; delta?: string; error?: unknown }>
  }>
}
