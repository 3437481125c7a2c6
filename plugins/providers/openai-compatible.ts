// Models of any server with OpenAI's chat completions API, such as Ollama, LM Studio, llama.cpp, vLLM and OpenRouter.
import { defineProvider, type Static, Type } from 'svc-gateway/plugin'
import { createStreamFetch, fieldsOf, listOf, RequestHeaders, textOf } from 'svc-gateway/kit'

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
      fetch: createStreamFetch(repairChunk),
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

/** The package refuses chunks whose fields have another type than OpenAI's, although it needs few of them. */
function repairChunk(chunk: Record<string, unknown>): Record<string, unknown> | undefined {
  const { id, model, usage, choices } = chunk
  const isError = ['error', 'errors', 'message', 'detail'].some((key) => (chunk[key] ?? null) !== null)
  if (isError) return chunk
  if (!Array.isArray(choices) && !isObject(usage)) return undefined
  return {
    ...(typeof id === 'string' && { id }),
    ...(typeof model === 'string' && { model }),
    ...(isObject(usage) && { usage }),
    choices: listOf(choices).map(repairChoice),
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

function repairChoice(choice: unknown): object {
  const { delta, message, finish_reason: reason } = fieldsOf(choice)
  const { role: _role, tool_calls: calls, ...rest } = fieldsOf(delta ?? message)
  return {
    delta: { ...rest, ...(Array.isArray(calls) && { tool_calls: calls.map(repairCall) }) },
    finish_reason: textOf(reason),
  }
}

function repairCall(call: unknown): object {
  const { id, function: called, ...rest } = fieldsOf(call)
  const { arguments: args, ...names } = fieldsOf(called)
  return {
    ...rest,
    ...((typeof id === 'string' || typeof id === 'number') && { id: String(id) }),
    function: { ...names, arguments: isObject(args) ? JSON.stringify(args) : args },
  }
}
