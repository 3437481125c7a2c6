// The provider openai: the law of providers, and its requests on the wire.
import { streamText } from 'ai'
import { expect, it } from 'vitest'
import openai from '../../plugins/providers/openai.ts'
import { createTestContext } from '../contracts/context.ts'
import { providerContract } from '../contracts/provider.ts'
import { startOpenAiResponses } from '../doubles/openai.ts'
import { answerFor } from '../doubles/wire.ts'

providerContract(openai, async (answer) => {
  const wire = await startOpenAiResponses()
  wire.otherwise(answerFor(answer))
  return { config: { baseUrl: `${wire.url}/v1`, apiKey: 'key-1' }, modelId: 'gpt-5.2', close: wire.close }
})

it('sends its key and headers, the model as it is named, and the thinking level', async () => {
  const wire = await startOpenAiResponses()
  wire.script({ text: 'Hello.' }, { text: 'Hello.' })
  const settings = { baseUrl: `${wire.url}/v1`, apiKey: 'key-1', headers: { 'x-team': 'blue' } }
  const models = await openai.models(settings, { name: 'openai', log: createTestContext().log })
  expect(await streamText({ model: models('gpt-5.2'), prompt: 'Hi', reasoning: 'low' }).text).toBe('Hello.')
  const { usage } = streamText({ model: models('gpt-5.2'), prompt: 'Hi' })
  expect(await usage).toMatchObject({ inputTokenDetails: { cacheReadTokens: 10 } })
  const [first, second] = wire.requests
  expect(first).toMatchObject({
    path: '/v1/responses',
    headers: { authorization: 'Bearer key-1', 'x-team': 'blue' },
    body: { model: 'gpt-5.2', stream: true, reasoning: { effort: 'low' } },
  })
  expect(JSON.stringify(second?.body)).not.toContain('effort')
  await wire.close()
})
