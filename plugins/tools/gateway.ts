// A tool that tells how the gateway is, and reads and changes its configuration.
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'

const Args = Type.Object(
  {
    action: Type.Enum(['status', 'config.get', 'config.patch', 'reload'], {
      description:
        '`status`: how it is. `config.get`: its configuration without secrets. `config.patch`: change the configuration file. `reload`: read the file again now.',
    }),
    path: Type.Optional(
      Type.String({ description: 'For config.get: only what stands under this path, such as `agents.defaults`.' }),
    ),
    patch: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description:
          'For config.patch: what to change. Objects are merged, null removes a key, anything else replaces.',
      }),
    ),
  },
  { additionalProperties: false },
)

const gateway = defineTool<Static<typeof Args>>({
  name: 'gateway',
  group: 'automation',
  description:
    'Tells how this gateway is, and reads or changes its configuration. Secrets are never shown, and what guards the gateway cannot be changed.',
  args: Args,
  effects: ['reads-private', 'sends'],
  async execute({ action, path, patch }, { gateway }) {
    if (action === 'status') return gateway.status()
    if (action === 'config.get') return { config: valueAt(gateway.config(), path) }
    if (action === 'reload') return gateway.reload()
    if (!patch) throw new InputError('patch is required for config.patch.')
    return gateway.patchConfig(patch)
  },
})

function valueAt(config: unknown, path: string | undefined): unknown {
  const keys = path?.trim() ? path.trim().split('.') : []
  const value = keys.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined,
    config,
  )
  if (value === undefined) throw new InputError('path leads to nothing in the configuration.')
  return value
}

export default defineToolset({ name: 'gateway', description: 'The gateway itself.', tools: [gateway] })
