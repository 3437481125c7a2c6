// Lists the models of a hosted provider, so that nobody has to know their ids.
import { listModels } from '../../config/local-servers.ts'

interface ModelList {
  url(env: NodeJS.ProcessEnv): string
  headers(key: string): Record<string, string>
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

/** The providers' libraries read the same variables. */
const lists: Readonly<Record<string, ModelList>> = {
  anthropic: {
    url: (env) => env['ANTHROPIC_BASE_URL'] || 'https://api.anthropic.com/v1',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
  openai: { url: (env) => env['OPENAI_BASE_URL'] || 'https://api.openai.com/v1', headers: bearer },
  google: { url: () => 'https://generativelanguage.googleapis.com/v1beta/openai', headers: bearer },
}

const limitMs = 5_000

/** Empty if the provider does not list them, for example because it refuses the key. */
export async function listHostedModels(kind: string, key: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const list = Object.hasOwn(lists, kind) ? lists[kind] : undefined
  if (!list) return []
  const ids = await listModels(list.url(env).replace(/\/+$/, ''), limitMs, list.headers(key))
  return (ids ?? []).map((id) => id.replace(/^models\//, ''))
}
