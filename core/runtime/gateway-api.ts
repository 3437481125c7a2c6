// Builds the gateway part of the tool API: status, redacted configuration, reload and configuration changes.
import type { Agents } from '../agents/agents.ts'
import { ConfigError } from '../config/config-error.ts'
import { patchConfigFile, PatchError } from '../config/file/patch.ts'
import { redactConfig } from '../config/redaction.ts'
import { createConfigSchema } from '../config/schema/schema.ts'
import { type GatewayApi, InputError } from '../plugin/plugin.ts'
import type { BuildContext } from './build-context.ts'

export function buildGatewayApi({ config, services, lifecycle, previous }: BuildContext, agents: Agents): GatewayApi {
  const { environment, startedAt, storage, delivery } = services
  const { file, extensions, env } = environment
  const reloadedAt = previous ? new Date().toISOString() : undefined
  return {
    status: async () => ({
      startedAt: new Date(startedAt).toISOString(),
      ...(reloadedAt !== undefined && { reloadedAt }),
      queuedRuns: await storage.store.countQueuedRuns(),
      agents: agents.all.map(({ id }) => id),
      channels: delivery.connections
        .states()
        .map(({ channel, accountId, state }) => ({ channel, accountId, connected: state === 'connected' })),
    }),
    config: () => redactConfig(config, createConfigSchema(extensions, config)) as Record<string, unknown>,
    reload: async () => {
      try {
        return await lifecycle.reload()
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
