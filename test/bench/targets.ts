// The paths that the benchmark measures.
import type { Target } from './rounds.ts'
import { gatewayToken, layeredSession, type Server, signatureHeader, token } from './servers.ts'

const text = '{"text":"$"}'

export const bareTarget = (bare: Server): Target => ({
  name: 'bare',
  servers: [bare],
  path: '/wake',
  body: text,
  token,
})

export const hookTarget = (name: 'wake' | 'agent', servers: readonly Server[]): Target => ({
  name,
  servers,
  path: `/hooks/${name}`,
  body: name === 'wake' ? text : '{"message":"$"}',
  token,
})

/** Of a gateway that `startLoaded` has started. */
export const gatewayTargets = (gateway: Server): Target[] => [
  hookTarget('wake', [gateway]),
  hookTarget('agent', [gateway]),
  {
    name: 'tool',
    servers: [gateway],
    path: '/tools/invoke',
    body: `{"tool":"measure","args":{"text":"$"},"sessionKey":"${layeredSession}"}`,
    token: gatewayToken,
  },
  { name: 'mapped', servers: [gateway], path: '/hooks/mapped', body: text, token },
  {
    name: 'signed',
    servers: [gateway],
    path: '/hooks/signed',
    body: text,
    token,
    sign: { header: signatureHeader, secret: token },
  },
  { name: 'transform', servers: [gateway], path: '/hooks/transform', body: text, token },
]

/** Of one with 1000 mappings. */
export const crowdedTarget = (crowded: Server): Target => ({
  name: 'mapped, one of 1000',
  servers: [crowded],
  path: '/hooks/mapped',
  body: text,
  token,
})
