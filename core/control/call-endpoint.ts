// Calls an endpoint for a client, over HTTP or the WebSocket: checks its role, records what it does, and removes what it
// may not read.
import { GatewayError } from '../errors.ts'
import { authorize, type Principal } from '../http/access.ts'
import { type AuditLog, clientSource } from '../store/audit-log.ts'
import type { AuditAction, AuditSource } from '../store/store.ts'
import { createHideContent, openSessionKeys } from './content.ts'
import type { SessionKeySeal } from './cursor.ts'
import type { Endpoint } from './endpoint.ts'

/** Who calls, and how. */
export interface EndpointCaller extends Pick<AuditSource, 'via' | 'address'> {
  principal: Principal
}

export interface EndpointInput {
  params: unknown
  query?: unknown
  body?: unknown
  headers?: unknown
}

export type CallEndpoint = (endpoint: Endpoint, input: EndpointInput, caller: EndpointCaller) => Promise<unknown>

export function createCallEndpoint(audit: AuditLog, sessionKeys: SessionKeySeal): CallEndpoint {
  const hideContent = createHideContent(sessionKeys)
  return async (endpoint, { body = {}, headers = {}, ...input }, { principal, via, address }) => {
    const { access, schema } = endpoint
    const params = openSessionKeys(schema.params, input.params, sessionKeys)
    const query = openSessionKeys(schema.querystring, input.query ?? {}, sessionKeys)
    const source = clientSource(principal, { via, address })
    const action = describeAction(endpoint, { params, body })
    try {
      authorize(principal, access)
      const change = (target: string, agentId?: string) => ({ ...source, ...action, target, agentId })
      const result = await endpoint.handle({ params, query, body, headers, principal, source, change })
      if (access.recordsAfter) await audit.done(source, action)
      return principal.content ? result : hideContent(schema.response[200], result)
    } catch (error) {
      if (access.action !== undefined && !isForbidden(error)) audit.failed(source, action, error)
      throw error
    }
  }
}

/** Refusals are recorded for all routes and methods alike. */
const isForbidden = (error: unknown): boolean => error instanceof GatewayError && error.code === 'forbidden'

function describeAction(
  { method, path, access, hasSecretPath }: Pick<Endpoint, 'method' | 'path' | 'access' | 'hasSecretPath'>,
  { params, body }: { params: unknown; body: unknown },
): AuditAction {
  const { id, name, key } = params as { id?: string; name?: string; key?: string }
  const { account } = body as { account?: unknown }
  const target = hasSecretPath ? undefined : (id ?? name ?? key)
  return {
    action: access.action ?? `${method} ${path}`,
    target: target !== undefined && typeof account === 'string' ? `${target}/${account}` : target,
  }
}
