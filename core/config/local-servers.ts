// Finds model servers on this machine, to offer them in the first configuration. They are never used automatically.
import type { ModelServer, Provider } from '../plugin/provider.ts'

/** A server that a provider knows. */
export interface KnownServer extends ModelServer {
  /** The name of the provider. */
  kind: string
}

/** A server that answers. */
export interface LocalServer extends KnownServer {
  /** Ids of its models; ids with unusual characters are left out. */
  models: string[]
}

export type Providers = ReadonlyMap<string, Provider>

export const listKnownServers = (providers: Providers): KnownServer[] =>
  [...providers.values()].flatMap(({ name: kind, localServers = [] }) =>
    localServers.map((server) => ({ kind, ...server })),
  )

/** Asks the servers that providers know for their models, in parallel. Those that do not answer in time are ignored. */
export async function findLocalServers(providers: Providers, { timeoutMs = 400 } = {}): Promise<LocalServer[]> {
  const found = await Promise.all(
    listKnownServers(providers).map(async (server) => {
      const models = await listModels(providers.get(server.kind), server, timeoutMs)
      return models ? [{ ...server, models }] : []
    }),
  )
  return found.flat()
}

async function listModels(
  provider: Provider | undefined,
  { baseUrl }: ModelServer,
  timeoutMs: number,
): Promise<string[] | undefined> {
  try {
    const request = provider?.listModels?.({ baseUrl }, { env: {} })
    if (!request) return undefined
    const { url, headers = {}, readIds } = request
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
    // The ids are written to a file and a terminal, and any program may listen on the port.
    // Some providers know a model by several ids, which may be the same.
    return response.ok ? [...new Set(readIds(await response.json()))].filter(isPlainId) : undefined
  } catch {
    return undefined
  }
}

export const isPlainId = (id: unknown): id is string => typeof id === 'string' && /^[\w.:/@+-]{1,200}$/.test(id)
