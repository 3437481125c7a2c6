// Finds model servers on this machine, to offer them in the first configuration. They are never used automatically.

export interface LocalServer {
  /** Suggested name of the provider's section. */
  name: string
  title: string
  /** Base URL of its OpenAI-compatible API. */
  url: string
  /** Ids of its models; ids with unusual characters are left out. */
  models: string[]
}

interface ServerAddress {
  name: string
  title: string
  port: number
}

const usualServers: readonly ServerAddress[] = [
  { name: 'ollama', title: 'Ollama', port: 11_434 },
  { name: 'lmstudio', title: 'LM Studio', port: 1234 },
  { name: 'llamacpp', title: 'llama.cpp', port: 8080 },
  { name: 'vllm', title: 'vLLM', port: 8000 },
  { name: 'jan', title: 'Jan', port: 1337 },
]

/** The address at which a server of this name usually listens. */
export function usualUrl(name: string): string | undefined {
  const server = usualServers.find((one) => one.name === name)
  return server && urlOf(server)
}

const urlOf = ({ port }: Pick<ServerAddress, 'port'>): string => `http://127.0.0.1:${port}/v1`

/** Queries the usual ports in parallel. A server that does not answer within `timeoutMs` is ignored. */
export async function findLocalServers({ servers = usualServers, timeoutMs = 400 } = {}): Promise<LocalServer[]> {
  const found = await Promise.all(
    servers.map(async ({ name, title, port }) => {
      const url = urlOf({ port })
      const models = await listModels(url, timeoutMs)
      return models ? [{ name, title, url, models }] : []
    }),
  )
  return found.flat()
}

async function listModels(url: string, timeoutMs: number): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${url}/models`, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
    const { data } = (await response.json()) as { data: { id: unknown }[] }
    // The ids are written to a file and a terminal, and any program may listen on the port.
    return response.ok ? data.map(({ id }) => id).filter(isPlainId) : undefined
  } catch {
    return undefined
  }
}

export const isPlainId = (id: unknown): id is string => typeof id === 'string' && /^[\w.:/@+-]{1,200}$/.test(id)
