// Creates the gateway part of the tool API: status, redacted configuration, reload and configuration changes.
import { ConfigError } from '../config/config-error.ts'
import { patchConfigFile, PatchError } from '../config/file/patch.ts'
import { redactConfig } from '../config/redaction.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from '../config/schema/schema.ts'
import type { Connections } from '../delivery/connections/connections.ts'
import { type GatewayApi, InputError } from '../plugin/plugin.ts'
import type { Store } from '../store/store.ts'
import type { Agents } from '../agents/agents.ts'

interface GatewayApiDeps {
  config: Config
  /** Absent when the configuration comes from no file. */
  file?: string | undefined
  extensions: ConfigurableExtensions
  env: NodeJS.ProcessEnv
  store: Pick<Store, 'countQueuedRuns'>
  agents: Agents
  connections: Pick<Connections, 'states'>
  reload: () => Promise<ReloadResult>
  /** When the process began to serve. A reload does not change it. */
  startedAt: number
  /** True if a reload brought this configuration. */
  reloaded: boolean
}

/** The result of a reload. */
export interface ReloadResult {
  /** Keys whose new value takes effect at the next start. */
  restartFor: string[]
}

export function createGatewayApi({
  config,
  file,
  extensions,
  env,
  store,
  agents,
  connections,
  reload,
  startedAt,
  reloaded,
}: GatewayApiDeps): GatewayApi {
  const reloadedAt = reloaded ? new Date().toISOString() : undefined
  return {
    status: async () => ({
      startedAt: new Date(startedAt).toISOString(),
      ...(reloadedAt !== undefined && { reloadedAt }),
      queuedRuns: await store.countQueuedRuns(),
      agents: agents.all.map(({ id }) => id),
      channels: connections
        .states()
        .map(({ channel, accountId, state }) => ({ channel, accountId, connected: state === 'connected' })),
    }),
    config: () => redactConfig(config, createConfigSchema(extensions, config)) as Record<string, unknown>,
    reload: async () => {
      try {
        return await reload()
      } catch (error) {
        throw error instanceof ConfigError ? new InputError(error.message, { cause: error }) : error
      }
    },
    patchConfig: async (changes) => {
      if (file === undefined)
        throw new InputError('The configuration does not come from a file, so it cannot be changed.')
      try {
        return { changed: patchConfigFile({ file, changes, extensions, env }) }
      } catch (error) {
        throw error instanceof PatchError ? new InputError(error.message, { cause: error }) : error
      }
    },
  }
}
