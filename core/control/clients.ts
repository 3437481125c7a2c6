// The endpoint that lists the clients of the configuration, without their tokens, and when each was last used.
import type { Config } from '../config/schema/schema.ts'
import { mayReadContent, roles } from '../http/access.ts'
import { Type } from '../typebox.ts'
import type { ClientUse } from './client-use.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, Time } from './lists.ts'

interface ClientsDeps {
  config: Pick<Config, 'gateway'>
  clientUse: Pick<ClientUse, 'find'>
}

export const clientEndpoints = ({ config, clientUse }: ClientsDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/clients',
    access: { needs: 'read', scope: 'gateway' },
    schema: {
      summary: 'Lists the clients of the configuration, without their tokens.',
      response: { 200: Type.Object({ items: Type.Array(ClientView) }) },
    },
    handle: async () => {
      const items = config.gateway.auth.clients.map(async ({ name, role, agents, content, notAfter }) => {
        const lastUsedAt = await clientUse.find(name)
        return {
          name,
          role,
          ...(agents && { agents }),
          content: mayReadContent(role, content),
          ...(notAfter !== undefined && { notAfter }),
          ...(lastUsedAt !== undefined && { lastUsedAt: iso(lastUsedAt) }),
        }
      })
      return { items: await Promise.all(items) }
    },
  }),
]

const ClientView = Type.Object({
  name: Type.String(),
  role: Type.Enum([...roles]),
  agents: Type.Optional(Type.Array(Type.String(), { description: 'The agents that it may reach. Absent: all.' })),
  content: Type.Boolean({ description: 'Whether it may read what was said.' }),
  notAfter: Type.Optional(Time('Until when its token is accepted. Absent: always.')),
  lastUsedAt: Type.Optional(
    Time('When a token of this name was last accepted. Another gateway on the same store reports it once a minute.'),
  ),
})
