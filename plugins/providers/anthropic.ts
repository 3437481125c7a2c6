// Anthropic's models, over its Messages API.
import { AuthError, defineProvider, type Static, Type } from 'svc-gateway/plugin'
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'

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
  listModels({ apiKey, baseUrl = 'https://api.anthropic.com/v1', headers }, { env }) {
    const key = apiKey ?? env['ANTHROPIC_API_KEY']
    if (!key) throw new AuthError('it needs an API key; set apiKey, or ANTHROPIC_API_KEY')
    return {
      url: `${baseUrl.replace(/\/$/, '')}/models?limit=1000`,
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', ...headers },
      readIds: (body) =>
        listOf(fieldsOf(body)['data']).flatMap((model) => {
          const id = textOf(fieldsOf(model)['id'])
          // The list has the dated ids only: `claude-haiku-4-5` and `claude-haiku-4-5-latest` are aliases.
          const alias = id?.replace(/-\d{8}$/, '')
          return id === undefined || alias === undefined ? [] : [id, alias, `${alias}-latest`]
        }),
    }
  },
})
