// The requests with which providers list the models of their services.
import { describe, expect, it } from 'vitest'
import anthropic from '../../plugins/providers/anthropic.ts'
import google from '../../plugins/providers/google.ts'
import openaiCompatible from '../../plugins/providers/openai-compatible.ts'
import openai from '../../plugins/providers/openai.ts'

const list = (...ids: string[]) => ({ data: ids.map((id) => ({ id })) })

describe('the list of models', () => {
  it.each([
    {
      provider: openai,
      sent: { url: 'https://api.openai.com/v1/models', headers: { authorization: 'Bearer key-1' } },
      body: list('gpt-5.2'),
      ids: ['gpt-5.2'],
    },
    {
      provider: anthropic,
      sent: {
        url: 'https://api.anthropic.com/v1/models?limit=1000',
        headers: { 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' },
      },
      body: list('claude-sonnet-4-5-20250929'),
      ids: ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5', 'claude-sonnet-4-5-latest'],
    },
    {
      provider: google,
      sent: {
        url: 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000',
        headers: { 'x-goog-api-key': 'key-1' },
      },
      body: { models: [{ name: 'models/gemini-3-pro' }] },
      ids: ['models/gemini-3-pro', 'gemini-3-pro'],
    },
  ])('of $provider.name is asked for with its key', ({ provider, sent, body, ids }) => {
    const request = provider.listModels?.({ apiKey: 'key-1' }, { env: {} })
    expect(request).toMatchObject(sent)
    expect(request?.readIds(body)).toEqual(ids)
    expect(request?.readIds({ error: 'none' })).toEqual([])
  })

  it('of a server with the API of OpenAI needs no key', () => {
    const request = openaiCompatible.listModels?.({ baseUrl: 'http://127.0.0.1:11434/v1/' }, { env: {} })
    expect(request).toMatchObject({ url: 'http://127.0.0.1:11434/v1/models', headers: {} })
    expect(request?.readIds(list('llama3.2:latest', 'qwen3:8b'))).toEqual(
      expect.arrayContaining(['llama3.2:latest', 'llama3.2', 'qwen3:8b']),
    )
  })

  it.each([
    [openai, 'OPENAI_API_KEY'],
    [anthropic, 'ANTHROPIC_API_KEY'],
    [google, 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ])('of $name can take the key from the environment, and needs one', (provider, variable) => {
    const request = provider.listModels?.({}, { env: { [variable]: 'key-2' } })
    expect(JSON.stringify(request?.headers)).toContain('key-2')
    expect(() => provider.listModels?.({}, { env: {} })).toThrow(`it needs an API key; set apiKey, or ${variable}`)
  })
})
