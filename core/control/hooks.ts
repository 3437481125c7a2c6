// The endpoint that lists the hooks, with the use of their secrets and the state of their transforms.
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
  /** Returns an empty list while the hooks are disabled. */
  hooks(): Promise<readonly Hook[]>
  config: { hooks: { path: string } }
}

export const hookEndpoints = ({ hooks, config }: HooksDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/hooks',
    access: { needs: 'read', scope: 'gateway' },
    schema: {
      summary: 'Lists the hooks, their mappings, and when each secret was last used.',
      response: { 200: HookList },
    },
    handle: async () => ({ items: (await hooks()).map((hook) => viewHook(hook, config.hooks.path)) }),
  }),
]

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
  index: Type.Integer({ minimum: 0, description: 'The index in the configuration, from 0.' }),
  notAfter: Type.Optional(
    Type.String({ description: 'Until when the secret is accepted, according to the configuration.' }),
  ),
  lastUsedAt: Type.Optional(Time('When a sender last authenticated with it; absent when that is not known.')),
})

const Transform = Type.Object({
  module: Type.String(),
  export: Type.String(),
  state: Type.Enum(['loading', 'ready', 'failed', 'open'], {
    description:
      '`failed`: no version of the file can run. `open`: the circuit breaker is open, so the transform does not run.',
  }),
  problem: Type.Optional(
    Type.String({ description: 'What is wrong with the current file. An older version may still be in use.' }),
  ),
  loadedAt: Type.Optional(Time()),
})

const Mapping = Type.Object({
  id: Type.String({ description: 'The id of the mapping, or the name of the preset.' }),
  source: Type.Optional(Type.String({ description: 'The `source` that the payload must have.' })),
  scheme: Type.String({ description: "`hook-token`, or the scheme of the mapping's own `auth`." }),
  secrets: Type.Optional(
    Type.Array(SecretStatus, { description: 'The secrets of its own `auth`, in the order of the configuration.' }),
  ),
  transform: Type.Optional(Transform),
})

const HookList = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.Optional(Type.String({ description: 'Absent: the mappings apply to any other name.' })),
      path: Type.Optional(Type.String()),
      mappings: Type.Array(Mapping, {
        description: 'The mappings that a request is matched with, in order. Empty for the built-in hooks.',
      }),
    }),
  ),
})
