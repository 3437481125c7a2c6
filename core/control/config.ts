// The configuration that is in force, without its secrets.
import { redactConfig } from '../config/redaction.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from '../config/schema.ts'
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
      schema: { summary: 'Shows the configuration that is in force, without its secrets.', response: { 200: Shown } },
      handle: async () => redactConfig(config, createConfigSchema(extensions, config)),
    }),
  ]
}

const Shown = Type.Unsafe<object>({
  type: 'object',
  description: 'The configuration with its defaults; every secret is `[redacted]`.',
})
