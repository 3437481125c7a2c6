// Anthropic's models, over its Messages API.
import { defineHostedProvider, fieldsOf, listOf, textOf } from 'svc-gateway/kit'

export default defineHostedProvider({
  name: 'anthropic',
  description: 'Models of Anthropic.',
  baseUrl: 'https://api.anthropic.com/v1',
  keyVariable: 'ANTHROPIC_API_KEY',
  service: { title: 'Anthropic', model: 'claude-sonnet-4-5' },
  // Anthropic adds types of events without notice.
  repair: (event) => (/^(?:message_|content_block_|error$|ping$)/.test(String(event['type'])) ? event : undefined),
  load: async () => (await import('@ai-sdk/anthropic')).createAnthropic,
  list: {
    path: 'models?limit=1000',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    readIds: (body) =>
      listOf(fieldsOf(body)['data']).flatMap((model) => {
        const id = textOf(fieldsOf(model)['id'])
        // The list has the dated ids only: `claude-haiku-4-5` and `claude-haiku-4-5-latest` are aliases.
        const alias = id?.replace(/-\d{8}$/, '')
        return id === undefined || alias === undefined ? [] : [id, alias, `${alias}-latest`]
      }),
  },
})
