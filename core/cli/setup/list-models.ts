// Lists the models of a provider that is not configured yet, so that nobody has to know their ids.
import { isPlainId } from '../../config/local-servers.ts'
import { askModelServers } from '../doctor/model-servers.ts'
import type { SetupContext } from './context.ts'
import { variableOf } from './variables.ts'

interface ProviderSettings {
  kind: string
  baseUrl?: string
  apiKey?: string
}

/** Empty if the provider does not list them, for example because it refuses the key. */
export async function listModelIds(settings: ProviderSettings, { extensions, env }: SetupContext): Promise<string[]> {
  // The libraries of the providers read the address from this variable, too.
  const baseUrl = settings.baseUrl ?? env[variableOf(settings.kind, 'baseUrl')]
  const section = { ...settings, ...(baseUrl && { baseUrl }) }
  const [answer] = await askModelServers(extensions.providers, { providers: { [settings.kind]: section } })
  // Google lists each id with and without this prefix.
  return [...new Set(answer?.ids)].filter((id) => isPlainId(id) && !id.startsWith('models/'))
}
