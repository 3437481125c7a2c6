// OpenAI's models, over its Responses API.
import { AuthError, defineProvider, type Static, Type } from 'svc-gateway/plugin'
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'

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
  listModels({ apiKey, baseUrl = 'https://api.openai.com/v1', headers }, { env }) {
    const key = apiKey ?? env['OPENAI_API_KEY']
    if (!key) throw new AuthError('it needs an API key; set apiKey, or OPENAI_API_KEY')
    return {
      url: `${baseUrl.replace(/\/$/, '')}/models`,
      headers: { authorization: `Bearer ${key}`, ...headers },
      readIds: (body) => listOf(fieldsOf(body)['data']).flatMap((model) => textOf(fieldsOf(model)['id']) ?? []),
    }
  },
})
