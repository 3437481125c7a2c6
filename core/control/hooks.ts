// The hooks that there are: who may call them, when each secret was last used, how their transforms are.
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, Time } from './lists.ts'

interface Secret {
  index: number
  notAfter?: string | undefined
  lastUsedAt?: number | undefined
}

interface Hook {
  name?: string
  mappings: readonly {
    id: string
    source?: string | undefined
    scheme: string
    secrets?: readonly Secret[] | undefined
    transform?: object | undefined
  }[]
}

interface HooksDeps {
  /** None while the hooks are off. */
  hooks(): Promise<readonly Hook[]>
  config: { hooks: { path: string } }
}

export function hookEndpoints({ hooks, config }: HooksDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/hooks',
      schema: {
        summary: 'Shows the hooks, their mappings, and when each secret was last used.',
        response: { 200: Answer },
      },
      handle: async () => ({ items: (await hooks()).map((hook) => viewHook(hook, config.hooks.path)) }),
    }),
  ]
}

const viewHook = ({ name, mappings }: Hook, path: string) => ({
  ...(name !== undefined && { name, path: `${path}/${name}` }),
  mappings: mappings.map(({ secrets, ...mapping }) => ({
    ...mapping,
    ...(secrets && { secrets: secrets.map(viewSecret) }),
  })),
})

const viewSecret = ({ index, notAfter, lastUsedAt }: Secret) => ({
  index,
  notAfter,
  ...(lastUsedAt !== undefined && { lastUsedAt: iso(lastUsedAt) }),
})

const SecretStatus = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'Its place in the configuration, from 0.' }),
  notAfter: Type.Optional(Type.String({ description: 'Until when it is accepted, as the configuration says.' })),
  lastUsedAt: Type.Optional(Time('When a sender last proved with it who it is; absent: never, as far as is known.')),
})

const Transform = Type.Object({
  module: Type.String(),
  export: Type.String(),
  state: Type.Enum(['loading', 'ready', 'failed', 'open'], {
    description: '`failed`: no version can run. `open`: its circuit breaker is open, so it does not run for now.',
  }),
  problem: Type.Optional(
    Type.String({ description: 'What is wrong with the file as it is now; an older version may still be in use.' }),
  ),
  loadedAt: Type.Optional(Time()),
})

const Mapping = Type.Object({
  id: Type.String({ description: 'Of a preset: its name.' }),
  source: Type.Optional(Type.String({ description: 'The `source` that a payload must have.' })),
  scheme: Type.String({ description: '`hook-token`, or the scheme of its own `auth`.' }),
  secrets: Type.Optional(
    Type.Array(SecretStatus, { description: 'Those of its own `auth`, in the order of the configuration.' }),
  ),
  transform: Type.Optional(Transform),
})

const Answer = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.Optional(Type.String({ description: 'Absent: any name that is not among the others.' })),
      path: Type.Optional(Type.String()),
      mappings: Type.Array(Mapping, {
        description: "Those that a request may reach, in the order in which they are tried; none: the gateway's own.",
      }),
    }),
  ),
})
