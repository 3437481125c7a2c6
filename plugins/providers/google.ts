// Google's Gemini models, over the Gemini API.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object(
  {
    apiKey: Type.Optional(
      Type.String({
        secret: true,
        description: 'API key. Default: the environment variable GOOGLE_GENERATIVE_AI_API_KEY.',
      }),
    ),
    baseUrl: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'Base URL of the API. Default: https://generativelanguage.googleapis.com/v1beta.',
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
  name: 'google',
  description: 'Gemini models of Google.',
  config: Config,
  async models({ apiKey, baseUrl, headers }) {
    const { createGoogle } = await import('@ai-sdk/google')
    const provider = createGoogle({
      ...(apiKey && { apiKey }),
      ...(baseUrl && { baseURL: baseUrl }),
      ...(headers && { headers }),
    })
    return (modelId) => provider(modelId)
  },
})
