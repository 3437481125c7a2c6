// Builds the authentication of a runtime: the gateway's own credential, its clients, and the record of what is refused.
import type { FastifyRequest } from 'fastify'
import { clientHash, resolveCredential } from '../config/credentials.ts'
import type { ClientConfig, Config } from '../config/schema/schema.ts'
import { GatewayError } from '../errors.ts'
import { mayReadContent, type Principal, type RouteGuard } from '../http/access.ts'
import {
  type CheckCredential,
  createCredentialCheck,
  createGatewayAuth,
  type KnownCredential,
  ownCredential,
} from '../http/auth.ts'
import type { Services } from '../services.ts'
import { clientSource } from '../store/audit-log.ts'
import type { AuditAction } from '../store/store.ts'
import { readMcpCall } from '../tools/mcp.ts'
import { toolAccess } from '../tools/routes.ts'

export function buildAuth(services: Services, config: Config) {
  const credential = credentialOf(services, config)
  const checkCredential = buildCredentialCheck(services, config, credential)
  const { audit } = services.storage
  const onRefused = (request: FastifyRequest): void => {
    const { routeOptions, principal, client } = request
    const via = routeOptions.config.routeGroup === 'mcp' ? 'mcp' : 'http'
    const source = clientSource(principal, { via, address: client.address })
    audit.failed(source, describeRefused(request), new GatewayError('forbidden'))
  }
  const guard: RouteGuard = { auth: createGatewayAuth(checkCredential), onRefused }
  return { checkCredential, guard, credential }
}

function describeRefused(request: FastifyRequest): AuditAction {
  const { routeOptions, method, params, body } = request
  const { access, hasSecretPath } = routeOptions.config
  const call = routeOptions.config.routeGroup === 'mcp' ? readMcpCall(request) : undefined
  if (call) return { action: toolAccess.invoke.action, target: call.tool }
  const { tool } = (body ?? {}) as { tool?: unknown }
  const { id, name } = (params ?? {}) as { id?: string; name?: string }
  const target = id ?? name ?? (typeof tool === 'string' ? tool : undefined)
  return { action: access?.action ?? `${method} ${routeOptions.url}`, ...(!hasSecretPath && { target }) }
}

/** The gateway's own credential. */
export function credentialOf({ environment }: Services, config: Config): string {
  const { value } = resolveCredential(config.gateway.auth, environment.env)
  if (value === undefined)
    throw new GatewayError('conflict', 'The gateway has no credential; set gateway.auth.token or SVC_GATEWAY_TOKEN.')
  return value
}

function buildCredentialCheck({ http }: Services, config: Config, credential: string): CheckCredential {
  const { rateLimit, clients } = config.gateway.auth
  return createCredentialCheck({
    credentials: [ownCredential(credential), ...clients.map(toKnownCredential)],
    onClient: http.clientUse.note,
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: http.throttles.gateway }),
  })
}

function toKnownCredential(client: ClientConfig): KnownCredential {
  const hash = clientHash(client) ?? ''
  return { digest: Buffer.from(hash.slice('sha256:'.length), 'hex'), principal: toPrincipal(client) }
}

const toPrincipal = ({ name, role, agents, content, notAfter }: ClientConfig): Principal => ({
  name,
  role,
  agents,
  content: mayReadContent(role, content),
  ...(notAfter !== undefined && { expiresAt: Date.parse(notAfter) }),
})
