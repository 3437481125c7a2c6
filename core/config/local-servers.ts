// Finds model servers on this machine: only to offer them, never to use them unasked.

export interface LocalServer {
  /** What the provider's section could be called. */
  name: string
  title: string
  /** Base URL of its OpenAI-compatible API. */
  url: string
  /** Ids of the models that it says it has; those with unusual characters are left out. */
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
]

/** Asks the usual ports all at once; whoever has not answered after `timeoutMs` is not there. */
export async function findLocalServers({ servers = usualServers, timeoutMs = 400 } = {}): Promise<LocalServer[]> {
  const found = await Promise.all(
    servers.map(async ({ name, title, port }) => {
      const url = `http://127.0.0.1:${port}/v1`
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
    // The ids go into a file and onto a terminal, and whatever listens on the port could have chosen them.
    return response.ok ? data.map(({ id }) => id).filter(isPlainId) : undefined
  } catch {
    return undefined
  }
}

const isPlainId = (id: unknown): id is string => typeof id === 'string' && /^[\w.:/@+-]{1,200}$/.test(id)
