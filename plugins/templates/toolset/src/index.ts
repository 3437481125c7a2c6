// A toolset with one tool, which searches a service with an HTTP API. The arguments are checked before it is called.
import { clip } from 'svc-gateway/kit'
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  url: Type.String({ pattern: '^https?://', description: 'Address of the search service.' }),
  token: Type.String({ secret: true, description: 'Sent as "Authorization: Bearer <token>".' }),
  maxResults: Type.Integer({ default: 20, minimum: 1, maximum: 100, description: 'Most results that one call gets.' }),
})
type Config = Static<typeof Config>

const Args = Type.Object({
  query: Type.String({ minLength: 1, maxLength: 200, description: 'Words to search for.' }),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many results to return; 5, if not given.' })),
})

/** What the service returns for each result. */
interface Found {
  title: string
  url: string
  summary?: string
}

export default defineToolset<Config>({
  name: 'plugin-name',
  description: 'Plugin Name: searches the service.',
  config: Config,
  expected: () => [{ name: 'plugin_name_search' }],
  panel: { title: 'Plugin Name', folder: new URL('./panel/', import.meta.url) },
  // Nothing stays connected, so there is nothing to close.
  open: async (config) => ({ tools: [createSearch(config)], close: async () => undefined }),
})

const createSearch = (config: Config) =>
  defineTool<Static<typeof Args>>({
    name: 'plugin_name_search',
    group: 'search',
    description: 'Searches the service and returns titles, addresses and summaries. Use it for facts that you lack.',
    args: Args,
    // The query reaches another service; the result is public. With private results, add 'reads-private'.
    effects: ['sends'],
    async execute({ query, limit = 5 }, { signal, log }) {
      const count = Math.min(limit, config.maxResults)
      const address = new URL(`${config.url}/search`)
      address.search = new URLSearchParams({ q: query, limit: String(count) }).toString()
      const response = await fetch(address, { headers: { authorization: `Bearer ${config.token}` }, signal })
      if (response.status === 400) throw new InputError('The service cannot search for this; use other words.')
      if (!response.ok) throw new Error(`The service answered ${response.status}.`)
      const results = (await response.json()) as Found[]
      log.debug({ results: results.length }, 'searched')
      return results.slice(0, count).map(({ title, url, summary }) => ({ title, url, summary: clip(summary, 500) }))
    },
  })
