// A tool that returns the state of the gateway, and reads and changes its configuration.
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'

const Args = Type.Object(
  {
    action: Type.Enum(['status', 'config.get', 'config.patch', 'reload'], {
      description:
        '`status`: the state. `config.get`: the configuration without secrets. ' +
        '`config.patch`: change the configuration file. `reload`: reload the file now.',
    }),
    path: Type.Optional(
      Type.String({ description: 'For config.get: only this part of it, such as `agents.defaults`.' }),
    ),
    patch: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description:
          'For config.patch: the changes. Objects are merged, null removes a key, and anything else replaces a value.',
      }),
    ),
  },
  { additionalProperties: false },
)

const gateway = defineTool<Static<typeof Args>>({
  name: 'gateway',
  external: 'none',
  group: 'automation',
  description:
    'Returns the state of this gateway, and reads or changes its configuration. ' +
    'It never shows secrets, and it cannot change security settings.',
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
  if (value === undefined) throw new InputError('path is not in the configuration.')
  return value
}

export default defineToolset({
  name: 'gateway',
  description: 'State and configuration of the gateway.',
  tools: [gateway],
})
