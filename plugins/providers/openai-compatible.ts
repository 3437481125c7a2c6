// Models of any server with OpenAI's chat completions API, such as Ollama, LM Studio, llama.cpp, vLLM and OpenRouter.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'
import { fieldsOf, RequestHeaders, textOf } from 'svc-gateway/kit'

const Config = Type.Object(
  {
    baseUrl: Type.String({
      pattern: '^https?://',
      description: 'Base URL of the API with its version, such as "http://127.0.0.1:11434/v1".',
    }),
    apiKey: Type.Optional(
      Type.String({ secret: true, description: 'Sent as "Authorization: Bearer <apiKey>". Default: no key is sent.' }),
    ),
    headers: RequestHeaders,
  },
  { additionalProperties: false },
)

export default defineProvider<Static<typeof Config>>({
  name: 'openai-compatible',
  description: "Any server with OpenAI's chat completions API.",
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
  pricing: ({ baseUrl }) => ({ url: baseUrl }),
  listModels: ({ baseUrl, apiKey, headers }) => ({
    url: `${baseUrl.replace(/\/$/, '')}/models`,
    headers: { ...(apiKey && { authorization: `Bearer ${apiKey}` }), ...headers },
    // Other servers answer at the same ports, so another form is no empty list.
    readIds: (body) =>
      (body as { data: unknown[] }).data.flatMap((model) => {
        const id = textOf(fieldsOf(model)['id'])
        // Ollama lists `llama3:latest` and accepts `llama3`, too.
        return id === undefined ? [] : [id, id.replace(/:latest$/, '')]
      }),
  }),
  localServers: [
    { name: 'ollama', title: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
    { name: 'lmstudio', title: 'LM Studio', baseUrl: 'http://127.0.0.1:1234/v1' },
    { name: 'llamacpp', title: 'llama.cpp', baseUrl: 'http://127.0.0.1:8080/v1' },
    { name: 'vllm', title: 'vLLM', baseUrl: 'http://127.0.0.1:8000/v1' },
    { name: 'jan', title: 'Jan', baseUrl: 'http://127.0.0.1:1337/v1' },
  ],
})
