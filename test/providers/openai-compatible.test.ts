// The provider for servers that speak OpenAI's chat completions: the law of providers, and its requests on the wire.
import { generateText, streamText } from 'ai'
import { expect, it } from 'vitest'
import openaiCompatible from '../../plugins/providers/openai-compatible.ts'
import { createTestContext } from '../contracts/context.ts'
import { providerContract } from '../contracts/provider.ts'
import { startOpenAiChat } from '../doubles/openai.ts'
import { answerFor } from '../doubles/wire.ts'

providerContract(openaiCompatible, async (answer) => {
  const wire = await startOpenAiChat()
  wire.otherwise(answerFor(answer))
  return { config: { baseUrl: `${wire.url}/v1` }, modelId: 'qwen', close: wire.close }
})

it('sends its key and headers, the model as it is named, and the thinking level', async () => {
  const wire = await startOpenAiChat()
  wire.script({ text: 'Hello.' }, { text: 'Hello.' })
  const { log } = createTestContext()
  const open = (settings: object) =>
    openaiCompatible.models({ baseUrl: `${wire.url}/v1/`, ...settings }, { name: 'local', log })
  const withKey = await open({ apiKey: 'key-1', headers: { 'x-team': 'blue' } })
  expect(await streamText({ model: withKey('vendor/large'), prompt: 'Hi', reasoning: 'medium' }).text).toBe('Hello.')
  await streamText({ model: (await open({}))('qwen'), prompt: 'Hi' }).text
  const [first, second] = wire.requests
  expect(first).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer key-1', 'x-team': 'blue' },
    body: { model: 'vendor/large', reasoning_effort: 'medium', stream: true, stream_options: { include_usage: true } },
  })
  expect(second?.headers).not.toHaveProperty('authorization')
  expect(second?.body).not.toHaveProperty('reasoning_effort')
  await wire.close()
})

it('is refused by a double that nobody told what to answer', async () => {
  const wire = await startOpenAiChat()
  const models = await openaiCompatible.models(
    { baseUrl: `${wire.url}/elsewhere` },
    { name: 'local', log: createTestContext().log },
  )
  await expect(generateText({ model: models('qwen'), prompt: 'Hi', maxRetries: 0 })).rejects.toThrow()
  await expect(wire.close()).rejects.toThrow('POST /elsewhere/chat/completions')
})
