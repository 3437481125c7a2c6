// The endpoint that returns the current configuration without its secrets.
import { redactConfig } from '../config/redaction.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from '../config/schema/schema.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

export function configEndpoints({
  config,
  extensions,
}: {
  config: Config
  extensions: ConfigurableExtensions
}): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/config',
      schema: { summary: 'Returns the current configuration without its secrets.', response: { 200: RedactedConfig } },
      handle: async () => redactConfig(config, createConfigSchema(extensions, config)),
    }),
  ]
}

const RedactedConfig = Type.Unsafe<object>({
  type: 'object',
  description: 'The configuration with its defaults. Every secret is `[redacted]`.',
})
