// OpenAI's models, over its Responses API.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object(
  {
    apiKey: Type.Optional(
      Type.String({
        secret: true,
        description: 'API key. Default: the environment variable OPENAI_API_KEY.',
      }),
    ),
    baseUrl: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'Base URL of the API. Default: https://api.openai.com/v1.',
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
  name: 'openai',
  description: 'Models of OpenAI.',
  config: Config,
  async models({ apiKey, baseUrl, headers }) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const provider = createOpenAI({
      ...(apiKey && { apiKey }),
      ...(baseUrl && { baseURL: baseUrl }),
      ...(headers && { headers }),
    })
    return (modelId) => provider(modelId)
  },
})
