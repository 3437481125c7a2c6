// The endpoint that lists the other gateways on the store.
import type { Replicas } from '../store/replicas.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

interface GatewaysDeps {
  replicas: Pick<Replicas, 'others'>
}

export const gatewayEndpoints = ({ replicas }: GatewaysDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/gateways',
    access: { needs: 'read', scope: 'gateway' },
    schema: { summary: 'Lists the other gateways on the same store.', response: { 200: GatewayList } },
    handle: async () => ({ items: replicas.others() }),
  }),
]

const GatewayList = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The host and the port of the gateway.' }),
      hasSameConfig: Type.Boolean({
        description: 'Whether its configuration is that of this gateway, apart from what may depend on the machine.',
      }),
    }),
    { description: 'Empty if the store belongs to one gateway.' },
  ),
})
