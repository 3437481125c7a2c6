// A provider of models from a server with OpenAI's chat completions API. It refuses models that are not configured.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  baseUrl: Type.String({
    pattern: '^https?://',
    description: 'Address of the API, such as "http://10.0.0.5:8000/v1".',
  }),
  apiKey: Type.Optional(Type.String({ secret: true, description: 'Sent as "Authorization: Bearer <apiKey>".' })),
  models: Type.Array(Type.String(), { minItems: 1, description: 'The ids of the models that the server has.' }),
})

export default defineProvider<Static<typeof Config>>({
  name: 'plugin-name',
  description: 'Plugin Name: models of our own server.',
  config: Config,
  async models({ baseUrl, apiKey, models }, { name }) {
    // Imported when a model is first needed, so that an unused provider costs nothing.
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const server = createOpenAICompatible({ name, baseURL: baseUrl, includeUsage: true, ...(apiKey && { apiKey }) })
    return (modelId) => {
      if (!models.includes(modelId))
        throw new Error(`There is no model "${modelId}"; providers.${name}.models has ${models.join(', ')}.`)
      return server(modelId)
    }
  },
})
