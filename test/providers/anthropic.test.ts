// The provider anthropic: the law of providers, and its requests on the wire.
import { streamText } from 'ai'
import { expect, it } from 'vitest'
import anthropic from '../../plugins/providers/anthropic.ts'
import { createTestContext } from '../contracts/context.ts'
import { providerContract } from '../contracts/provider.ts'
import { startAnthropic } from '../doubles/anthropic.ts'
import { answerFor } from '../doubles/wire.ts'

providerContract(anthropic, async (answer) => {
  const wire = await startAnthropic()
  wire.otherwise(answerFor(answer))
  return { config: { baseUrl: `${wire.url}/v1`, apiKey: 'key-1' }, modelId: 'claude-opus-4-6', close: wire.close }
})

it('sends its key and headers, the model as it is named, and the thinking level', async () => {
  const wire = await startAnthropic()
  wire.script({ text: 'Hello.' }, { text: 'Hello.' })
  const settings = { baseUrl: `${wire.url}/v1`, apiKey: 'key-1', headers: { 'x-team': 'blue' } }
  const models = await anthropic.models(settings, { name: 'anthropic', log: createTestContext().log })
  expect(await streamText({ model: models('claude-opus-4-6'), prompt: 'Hi', reasoning: 'low' }).text).toBe('Hello.')
  const { usage } = streamText({ model: models('claude-opus-4-6'), prompt: 'Hi' })
  expect(await usage).toMatchObject({ inputTokenDetails: { cacheReadTokens: 10 } })
  const [first, second] = wire.requests
  expect(first).toMatchObject({
    path: '/v1/messages',
    headers: { 'x-api-key': 'key-1', 'x-team': 'blue' },
    body: { model: 'claude-opus-4-6', stream: true, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
  })
  expect(JSON.stringify(second?.body)).not.toContain('thinking')
  await wire.close()
})
