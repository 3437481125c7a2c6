// Anthropic's models, over its Messages API.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object(
  {
    apiKey: Type.Optional(
      Type.String({
        secret: true,
        description: 'API key. Default: the environment variable ANTHROPIC_API_KEY.',
      }),
    ),
    baseUrl: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'Base URL of the API. Default: https://api.anthropic.com/v1.',
      }),
    ),
    headers: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: Type.String({ secret: true }),
        description: 'Additional headers of every request.',
      }),
    ),
  },
  { additionalProperties: false },
)

export default defineProvider<Static<typeof Config>>({
  name: 'anthropic',
  description: 'Models of Anthropic.',
  config: Config,
  async models({ apiKey, baseUrl, headers }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const provider = createAnthropic({
      ...(apiKey && { apiKey }),
      ...(baseUrl && { baseURL: baseUrl }),
      ...(headers && { headers }),
    })
    return (modelId) => provider(modelId)
  },
})
