// Models behind any server that speaks OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM, OpenRouter and
// many more.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object(
  {
    baseUrl: Type.String({
      pattern: '^https?://',
      description: 'Where the server answers, up to and including its version: "http://127.0.0.1:11434/v1".',
    }),
    apiKey: Type.Optional(
      Type.String({ secret: true, description: 'Sent as "Authorization: Bearer <apiKey>". Not set: nothing is sent.' }),
    ),
    headers: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: Type.String({ secret: true }),
        description: 'More headers for every request.',
      }),
    ),
  },
  { additionalProperties: false },
)

export default defineProvider<Static<typeof Config>>({
  name: 'openai-compatible',
  description: "Any server that speaks OpenAI's chat completions.",
  config: Config,
  async models({ baseUrl, apiKey, headers }, { name }) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const provider = createOpenAICompatible({
      name,
      baseURL: baseUrl,
      includeUsage: true,
      ...(apiKey && { apiKey }),
      ...(headers && { headers }),
    })
    return (modelId) => provider(modelId)
  },
})
