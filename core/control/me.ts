// The endpoint that says who calls, and what the caller may do.
import { refusalOf, roles } from '../http/access.ts'
import type { RouteInfo } from '../http/route-list.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, Time } from './lists.ts'

interface MeDeps {
  routes: () => readonly RouteInfo[]
}

export const meEndpoints = ({ routes }: MeDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/me',
    access: { needs: 'read', scope: 'public' },
    schema: { summary: 'Returns who calls, and which operations the caller may use.', response: { 200: Me } },
    handle: async ({ principal }) => {
      const { name, role, agents, content, expiresAt } = principal
      return {
        name,
        role,
        ...(agents && { agents: [...agents] }),
        content,
        ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
        operations: routes()
          .filter(({ access }) => access && refusalOf(principal, access) === undefined)
          .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`),
      }
    },
  }),
]

const Me = Type.Object({
  name: Type.String({ description: "The name of the client; `gateway` for the gateway's own credential." }),
  role: Type.Enum([...roles]),
  agents: Type.Optional(Type.Array(Type.String(), { description: 'The agents that it may reach. Absent: all.' })),
  content: Type.Boolean({ description: 'Whether it may read what was said, and answer approvals.' }),
  expiresAt: Type.Optional(Time('When its token expires. Absent: never.')),
  operations: Type.Array(Type.String(), {
    description: 'What it may call, as a method and a path of the OpenAPI document, such as `GET /runs/{id}`.',
  }),
})
