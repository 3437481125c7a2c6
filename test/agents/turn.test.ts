// Tests turns with the real providers over loopback: tools, usage, thinking levels, and the failures of a model.
import { noProvenance } from '../../core/store/provenance.ts'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { ModelError } from '../../core/agents/model-error.ts'
import { createModels } from '../../core/agents/models.ts'
import { maxReplyLength, maxOutputLength } from '../../core/agents/model-answer.ts'
import { createTurn, type TurnInput } from '../../core/agents/turn.ts'
import { maxResultLength } from '../../core/agents/tool-steps.ts'
import { defineTool, type Json, type Tool, Type } from '../../core/plugin/plugin.ts'
import { openToolRegistry } from '../../core/tools/registry.ts'
import { createInvoke } from '../../core/tools/invoke.ts'
import anthropic from '../../plugins/providers/anthropic.ts'
import builtin from '../../plugins/providers/builtin.ts'
import openaiCompatible from '../../plugins/providers/openai-compatible.ts'
import { createTestContext } from '../contracts/context.ts'
import { createTestToolApi } from '../contracts/tool-api.ts'
import { messagesOf } from '../doubles/model.ts'
import { startAnthropic } from '../doubles/anthropic.ts'
import { startOpenAiChat } from '../doubles/openai.ts'
import type { Wire } from '../doubles/wire.ts'

const secret = 'sk-turn-secret-0123456789'
const wires = [
  { wire: 'chat completions', start: startOpenAiChat, kind: 'openai-compatible' },
  { wire: 'messages', start: startAnthropic, kind: 'anthropic' },
]
const weather = defineTool<{ city: string }>({
  name: 'get_weather',
  description: 'Tells the weather of a city.',
  args: Type.Object({ city: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  execute: ({ city }) => ({ city, degrees: 21 }),
})

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0)) await end()
})

interface Setup {
  start?: () => Promise<Wire>
  kind?: string
  tools?: Tool[]
  maxSteps?: number
  maxOutputTokens?: number
  maxRetries?: number
}

/** Creates a turn as the gateway does. `run` accepts changes to the default input. */
async function setUp({
  start = startOpenAiChat,
  kind = 'openai-compatible',
  tools = [weather],
  maxSteps = 16,
  maxOutputTokens,
  ...limits
}: Setup = {}) {
  const wire = await start()
  ended.push(wire.close)
  const context = createTestContext()
  const { log, logged } = context
  const registry = await openToolRegistry({
    toolsets: [{ kind: 'toolset', name: 'test', description: 'Test.', tools }],
    settings: () => ({}),
    context: () => context,
  })
  const invoke = createInvoke({
    registry,
    policy: { judge: () => ({ verdict: 'allow' }), isTrusted: () => true },
    ruleOfTwo: { admit: async () => [], needsApproval: async () => false },
    toolApi: () => createTestToolApi(),
    timeoutMs: 60_000,
    log,
  })
  const providers = new Map([builtin, openaiCompatible, anthropic].map((provider) => [provider.name, provider]))
  const config = { providers: { wire: { kind, baseUrl: `${wire.url}/v1`, apiKey: secret } } }
  const models = createModels({ config, providers, log })
  const check = () => ({ isRepeatable: false })
  const runTurn = createTurn({
    invoke,
    tools: () => registry.list().map(({ tool }) => tool),
    describedBy: () => noProvenance,
    check,
    log,
    ...limits,
  })
  const starter = { caller: 'agent', agentId: 'main', sessionKey: 'agent:main:main' } as const
  const provenance = { own: noProvenance, seen: noProvenance }
  const input: TurnInput = {
    agent: { id: 'main', maxSteps, maxOutputTokens },
    model: models.resolve('wire/model-1', { models: undefined }),
    system: 'You are a test.',
    prompt: 'What is the weather in Oslo?',
    history: [],
    sessionKey: 'agent:main:main',
    runId: 'run-1',
    attempt: 1,
    record: async () => {},
    sources: { subject: () => starter, add: async () => {}, provenance: () => provenance, isNamedUrl: () => false },
    signal: new AbortController().signal,
  }
  const run = (changes: Partial<TurnInput> = {}) => runTurn({ ...input, ...changes })
  const resolve = (reference: string, reasoning: boolean) =>
    models.resolve(reference, { models: [{ id: reference, reasoning }] })
  return { wire, run, resolve, logged }
}

/** Returns the body of the model's n-th request. */
const sent = async (wire: Wire, index: number) => JSON.stringify((await wire.request(index)).body)

const failure = async (turn: Promise<unknown>): Promise<ModelError> => {
  const error = await turn.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof ModelError)) throw new Error('the turn should have ended with a ModelError', { cause: error })
  return error
}

describe.each(wires)('a turn over $wire', ({ start, kind }) => {
  it('calls a tool, returns its result to the model, and answers', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({ tool: 'get_weather', args: { city: 'Oslo' } }, { text: 'It is 21 degrees in Oslo.' })
    const parts: string[] = []
    const { reply, messages, usage, finishReason } = await run({ onDelta: (text) => parts.push(text) })
    expect(reply).toBe('It is 21 degrees in Oslo.')
    expect(parts.join('')).toBe(reply)
    expect(parts.length).toBeGreaterThan(1)
    expect(finishReason).toBe('stop')
    expect(messages.map((message) => (message as { role: string }).role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(messages[2]).toMatchObject({
      content: [
        {
          type: 'tool-result',
          toolName: 'get_weather',
          output: { type: 'json', value: { city: 'Oslo', degrees: 21 } },
        },
      ],
    })
    expect(await sent(wire, 1)).toContain('degrees')
    expect(usage).toMatchObject({ outputTokens: 40, cachedInputTokens: 20, steps: 2 })
    expect(usage.totalTokens).toBe(usage.inputTokens + usage.outputTokens)
  })

  it('continues a conversation from its stored messages', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script(
      { tool: 'get_weather', args: { city: 'Oslo' } },
      { text: 'It is mild.', thinking: 'Hm.' },
      { text: 'As I said.' },
    )
    const { messages } = await run()
    const stored = JSON.parse(JSON.stringify(messages)) as Json[]
    expect(stored).toEqual(messages)
    expect(JSON.stringify(stored)).not.toMatch(/provider|signature|Hm\./)
    await run({ history: stored, prompt: 'And now?' })
    const body = await sent(wire, 2)
    for (const text of ['What is the weather in Oslo?', 'get_weather', 'degrees', 'It is mild.', 'And now?'])
      expect(body).toContain(text)
  })

  it('returns invalid arguments to the model with a sentence', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script(
      { tool: 'get_weather', args: { city: 5 }, id: 'one' },
      { tool: 'get_weather', rawArgs: '{"city": ', id: 'two' },
      { text: 'I give up.' },
    )
    const { reply, messages } = await run()
    expect(reply).toBe('I give up.')
    expect(await sent(wire, 1)).toContain('args.city must be a string.')
    expect(messages).toHaveLength(6)
    expect(
      messages
        .flatMap((message) => (message as { content: { type: string }[] }).content)
        .filter(({ type }) => type === 'tool-result'),
    ).toHaveLength(2)
  })

  it('makes at most maxSteps calls, and asks for an answer in the last one', async () => {
    const { wire, run } = await setUp({ start, kind, maxSteps: 3 })
    wire.script(...['a', 'b', 'c'].map((id) => ({ tool: 'get_weather', args: { city: 'Oslo' }, id })))
    const { reply, usage, finishReason } = await run()
    expect(usage.steps).toBe(3)
    expect(finishReason).toBe('tool-calls')
    expect(reply).toBe('')
    const [first, , last] = wire.requests.map(({ body }) => JSON.stringify(body['tool_choice']))
    expect(first).not.toContain('none')
    expect(last).toContain('none')
  })

  it('ends when its signal aborts while the service hangs, and closes the connection', async () => {
    const { wire, run } = await setUp({ start, kind })
    const stop = new AbortController()
    wire.script({ hang: true, text: 'Let me' })
    const turn = run({ signal: stop.signal })
    const { abandoned } = await wire.request(0)
    const reason = new Error('over')
    stop.abort(reason)
    await expect(turn).rejects.toBe(reason)
    await abandoned
  })

  it('fails when the stream ends early', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({ truncate: true, text: 'The weather is' })
    expect((await failure(run())).message).toBe("The model's answer broke off or was not valid.")
  })

  it('fails when the connection breaks during the answer', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({ drop: true, text: 'The weather is' })
    expect((await failure(run())).message).toBe("The model's answer broke off or was not valid.")
  })

  it('retries after Retry-After, and then answers', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script(
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 500, headers: { 'retry-after-ms': '1' } },
      { text: 'Here I am.' },
    )
    expect((await run()).reply).toBe('Here I am.')
    expect(wire.requests).toHaveLength(3)
  })

  it('fails after three attempts, with the status in the message and the rest in the detail', async () => {
    const { wire, run } = await setUp({ start, kind })
    const error = {
      type: 'overloaded',
      message: `model-1 is on fire; your key ${secret} and sk-abcdefghijk**** are fine`,
    }
    wire.script(
      ...Array.from({ length: 3 }, () => ({
        status: 500,
        headers: { 'retry-after-ms': '1' },
        body: { type: 'error', error },
      })),
    )
    const failed = await failure(run())
    expect(wire.requests).toHaveLength(3)
    expect(failed.code).toBe('model_failed')
    expect(failed.message).toBe("The model's service answered 500.")
    expect(failed.detail).toContain('model-1 is on fire; your key [secret] and [secret] are fine')
  })

  it('does not retry a refused credential', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({ status: 401, body: { error: { message: 'no' } } })
    expect((await failure(run())).message).toBe(
      "The model's service refused the credential (401); check the apiKey of its provider.",
    )
    expect(wire.requests).toHaveLength(1)
  })

  it('does not retry a 429 that says that the account has no credit left', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({
      status: 429,
      body: { error: { message: 'no', type: 'insufficient_quota', code: 'insufficient_quota' } },
    })
    const failed = await failure(run())
    expect(failed.message).toBe("The account at the model's service has no credit left; check its plan and billing.")
    expect(failed.isTransient).toBe(false)
    expect(wire.requests).toHaveLength(1)
  })

  it('cuts a reply of 10 MB with a mark, and aborts the request', async () => {
    const { wire, run } = await setUp({ start, kind })
    wire.script({ text: 'x'.repeat(10_000_000) })
    let streamedLength = 0
    const { reply, messages, finishReason } = await run({ onDelta: (text) => void (streamedLength += text.length) })
    expect(finishReason).toBe('length')
    expect(streamedLength).toBe(maxReplyLength)
    expect(reply).toMatch(/^x+\n\[cut: the reply is longer than 100000 characters\]$/)
    expect(JSON.stringify(messages).length).toBeLessThan(maxReplyLength + 1000)
    await (
      await wire.request(0)
    ).abandoned
  })
})

describe('the limits of a turn', () => {
  it('accept a reply of exactly the maximum length', async () => {
    const { wire, run } = await setUp()
    wire.script({ text: 'x'.repeat(maxReplyLength) }, { text: 'x'.repeat(maxReplyLength + 1) })
    expect(await run()).toMatchObject({ finishReason: 'stop', reply: 'x'.repeat(maxReplyLength) })
    expect((await run()).finishReason).toBe('length')
  })

  it.each([
    [
      'reasoning',
      { start: startAnthropic, kind: 'anthropic' },
      { text: 'So.', thinking: 'h'.repeat(maxOutputLength + 1) },
    ],
    ['tool arguments', {}, { tool: 'get_weather', args: { city: 'O'.repeat(maxOutputLength) } }],
  ] as const)('apply to %s', async (_what, setup, answer) => {
    const { wire, run } = await setUp(setup)
    wire.script(answer)
    const { reply, finishReason } = await run()
    expect([reply, finishReason]).toEqual(['[cut: the model wrote more than 2000000 characters]', 'length'])
  })
})

describe('the thinking level', () => {
  it.each([
    { thinking: 'high', body: { reasoning_effort: 'high' } },
    { thinking: 'off', body: { reasoning_effort: 'none' } },
  ] as const)('is sent as $body for $thinking over chat completions', async ({ thinking, body }) => {
    const { wire, run } = await setUp()
    wire.script({ text: 'Yes.' })
    await run({ thinking })
    expect((await wire.request(0)).body).toMatchObject(body)
  })

  it('is sent as a budget or an effort over messages, depending on the model', async () => {
    const { wire, run, resolve } = await setUp(wires[1])
    wire.script({ text: 'Yes.', thinking: 'Well.' }, { text: 'Yes.' })
    await run({ thinking: 'low', model: resolve('wire/claude-sonnet-4-5', true) })
    await run({ thinking: 'low', model: resolve('wire/claude-opus-4-6', true) })
    expect((await wire.request(0)).body['thinking']).toMatchObject({
      type: 'enabled',
      budget_tokens: expect.any(Number),
    })
    expect((await wire.request(1)).body).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    })
  })

  it.each(wires)(
    'is not sent over $wire for a model that cannot reason, or without a level',
    async ({ start, kind }) => {
      const { wire, run, resolve } = await setUp({ start, kind })
      wire.script({ text: 'Yes.' }, { text: 'Yes.' })
      await run({ thinking: 'high', model: resolve('wire/claude-3-5-haiku-latest', false) })
      await run()
      for (const { body } of wire.requests) {
        for (const key of ['reasoning_effort', 'thinking', 'output_config']) expect(body).not.toHaveProperty(key)
      }
    },
  )
})

describe('a turn that calls tools', () => {
  it('calls a tool when its step is stored, and reads its result when that is stored', async () => {
    const seen: string[] = []
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      args: Type.Object({}),
      execute: () => seen.push('called') && 'found',
    })
    const { wire, run } = await setUp({ tools: [look] })
    wire.script({ tool: 'look', args: {} }, { text: 'Done.' })
    const stores = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let count = 0
    const turn = run({
      record: async (steps) => {
        seen.push(steps.map(({ kind, status }) => `${kind} ${status}`).join(', '))
        const index = count++
        asked[index]?.resolve()
        await stores[index]?.promise
      },
    })
    await asked[0]!.promise
    expect(seen).toEqual(['model succeeded, tool running'])
    stores[0]!.resolve()
    await asked[1]!.promise
    expect(seen.slice(1)).toEqual(['called', 'tool succeeded'])
    expect(wire.requests).toHaveLength(1)
    stores[1]!.resolve()
    expect((await turn).reply).toBe('Done.')
    expect(wire.requests).toHaveLength(2)
  })

  it('ends with the error of a step that cannot be stored, and calls no tool', async () => {
    const { wire, run } = await setUp({ tools: [{ ...weather, execute: () => expect.fail('it was called') }] })
    wire.script({ tool: 'get_weather', args: { city: 'Oslo' } })
    const lost = new Error('lost')
    await expect(run({ record: () => Promise.reject(lost) })).rejects.toBe(lost)
  })
})

describe('a turn', () => {
  it('ends when its signal aborts and a tool ignores it', async () => {
    const stop = new AbortController()
    const entered = new EventTarget()
    const stubborn = defineTool({
      name: 'stubborn',
      description: 'Never ends.',
      args: Type.Object({}),
      execute: async () => {
        entered.dispatchEvent(new Event('tool'))
        await new Promise(() => {})
      },
    })
    const { wire, run } = await setUp({ tools: [stubborn] })
    wire.script({ tool: 'stubborn', args: {} })
    const inside = once(entered, 'tool')
    const turn = run({ signal: stop.signal })
    await inside
    const reason = new Error('over')
    stop.abort(reason)
    await expect(turn).rejects.toBe(reason)
  })

  it('ends when its signal aborts and the model ignores it or never loads', async () => {
    const { run, resolve } = await setUp()
    const [asked, never] = [Promise.withResolvers<void>(), new Promise<never>(() => {})]
    const unresponsive = {
      specificationVersion: 'v4',
      provider: 'unresponsive',
      modelId: 'unresponsive',
      supportedUrls: {},
    } as const
    const hang = () => {
      asked.resolve()
      return never
    }
    const hanging = [async () => ({ ...unresponsive, doStream: hang, doGenerate: hang }), hang]
    for (const model of hanging) {
      const [stop, reason] = [new AbortController(), new Error('over')]
      const turn = run({ model: { ...resolve('builtin/rules', true), model }, signal: stop.signal })
      await asked.promise
      stop.abort(reason)
      await expect(turn).rejects.toBe(reason)
    }
  })

  it('ends immediately when its signal has already aborted', async () => {
    const { run } = await setUp()
    const reason = new Error('over')
    await expect(run({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  it('hides the error of a broken tool from the model', async () => {
    const broken = defineTool({
      name: 'broken',
      description: 'Breaks.',
      args: Type.Object({}),
      execute: () => {
        throw new Error('password is swordfish')
      },
    })
    const { wire, run, logged } = await setUp({ tools: [broken] })
    wire.script({ tool: 'broken', args: {} }, { text: 'It broke.' })
    const { messages } = await run()
    expect(await sent(wire, 1)).toContain("The tool failed. See the gateway's log.")
    expect(JSON.stringify([messages, logged, wire.requests.map(({ body }) => body)])).not.toContain('swordfish')
  })

  it.each([
    [
      'an unknown tool',
      { tool: 'launch_rocket', args: {} },
      'There is no tool with this name; call one of those that you were given.',
    ],
    [
      'arguments that are not JSON',
      { tool: 'get_weather', rawArgs: '{"city": ' },
      'The arguments are not valid JSON; send one JSON object that fits the schema of the tool.',
    ],
    ['arguments that are not an object', { tool: 'get_weather', rawArgs: '[]' }, 'args must be an object.'],
    ['arguments that do not fit', { tool: 'get_weather', args: { city: 5 } }, 'args.city must be a string.'],
  ])('answers the model with a sentence of the gateway: %s', async (_what, call, sentence) => {
    const { wire, run } = await setUp()
    wire.script({ ...call, id: 'one' }, { ...call, id: 'two' }, { text: 'Never mind.' })
    const { reply, messages } = await run()
    expect(reply).toBe('Never mind.')
    const answers = messagesOf(await wire.request(2)).filter(({ role }) => role === 'tool')
    expect(answers.map(({ content }) => content)).toEqual([sentence, sentence])
    const results = messages.flatMap((message) =>
      (message as { role: string; content: { output: Json }[] }).role === 'tool'
        ? (message as { content: { output: Json }[] }).content
        : [],
    )
    expect(results.map(({ output }) => output)).toEqual([1, 2].map(() => ({ type: 'error-text', value: sentence })))
  })

  it('sends the model only the beginning of a long result', async () => {
    const long = defineTool({
      name: 'long',
      description: 'Long.',
      args: Type.Object({}),
      execute: () => 'y'.repeat(maxResultLength * 3),
    })
    const { wire, run } = await setUp({ tools: [long] })
    wire.script({ tool: 'long', args: {} }, { text: 'Long.' })
    await run()
    const body = await sent(wire, 1)
    expect(body).toContain('[cut: 300000 characters in all]')
    expect(body.length).toBeLessThan(maxResultLength + 5000)
  })

  it('fails when the service cannot be reached', async () => {
    const { wire, run } = await setUp({ maxRetries: 0 })
    await wire.close()
    ended.length = 0
    expect((await failure(run())).message).toBe("The model's service could not be reached.")
  })
})
