// OpenAI's models, over its Responses API.
import { defineHostedProvider, fieldsOf, listOf, textOf } from 'svc-gateway/kit'

export default defineHostedProvider({
  name: 'openai',
  description: 'Models of OpenAI.',
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  service: { title: 'OpenAI', model: 'gpt-5.2' },
  load: async () => (await import('@ai-sdk/openai')).createOpenAI,
  list: {
    path: 'models',
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    readIds: (body) => listOf(fieldsOf(body)['data']).flatMap((model) => textOf(fieldsOf(model)['id']) ?? []),
  },
})
