// The provider google: the law of providers, and its requests on the wire.
import { streamText } from 'ai'
import { expect, it } from 'vitest'
import google from '../../plugins/providers/google.ts'
import { createTestContext } from '../contracts/context.ts'
import { providerContract } from '../contracts/provider.ts'
import { startGoogle } from '../doubles/google.ts'
import { answerFor } from '../doubles/wire.ts'

providerContract(
  google,
  async (answer) => {
    const wire = await startGoogle()
    wire.otherwise(answerFor(answer))
    return {
      config: { baseUrl: `${wire.url}/v1beta`, apiKey: 'key-1' },
      modelId: 'gemini-3-pro-preview',
      close: wire.close,
    }
  },
  { without: ['brokenArguments'] },
)

it('sends its key and headers, the model as it is named, and the thinking level', async () => {
  const wire = await startGoogle()
  wire.script({ text: 'Hello.' }, { text: 'Hello.' })
  const settings = { baseUrl: `${wire.url}/v1beta`, apiKey: 'key-1', headers: { 'x-team': 'blue' } }
  const models = await google.models(settings, { name: 'google', log: createTestContext().log })
  expect(await streamText({ model: models('gemini-3-pro-preview'), prompt: 'Hi', reasoning: 'low' }).text).toBe(
    'Hello.',
  )
  const { usage } = streamText({ model: models('gemini-3-pro-preview'), prompt: 'Hi' })
  expect(await usage).toMatchObject({ inputTokenDetails: { cacheReadTokens: 10 } })
  const [first, second] = wire.requests
  expect(first).toMatchObject({
    path: '/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': 'key-1', 'x-team': 'blue' },
    body: { generationConfig: { thinkingConfig: { thinkingLevel: 'low' } } },
  })
  expect(JSON.stringify(second?.body)).not.toContain('thinkingLevel')
  await wire.close()
})
