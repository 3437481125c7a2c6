// Google's Gemini models, over the Gemini API.
import { AuthError, defineProvider, type Static, Type } from 'svc-gateway/plugin'
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'

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

const defaultUrl = 'https://generativelanguage.googleapis.com/v1beta'

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
  listModels({ apiKey, baseUrl = defaultUrl, headers }, { env }) {
    const key = apiKey ?? env['GOOGLE_GENERATIVE_AI_API_KEY']
    if (!key) throw new AuthError('it needs an API key; set apiKey, or GOOGLE_GENERATIVE_AI_API_KEY')
    return {
      url: `${baseUrl.replace(/\/$/, '')}/models?pageSize=1000`,
      headers: { 'x-goog-api-key': key, ...headers },
      readIds: (body) =>
        listOf(fieldsOf(body)['models']).flatMap((model) => {
          const name = textOf(fieldsOf(model)['name'])
          return name === undefined ? [] : [name, name.replace(/^models\//, '')]
        }),
    }
  },
})
