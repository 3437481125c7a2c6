// Resolves the session and the agent of a call over HTTP.
import { GatewayError } from '../errors.ts'
import { agentSessionKey, checkSessionKey, isMainAlias } from '../sessions/keys.ts'
import type { Subject } from './subject.ts'

interface SessionOwner {
  id: string
  mainSession: string
}

/** The agents and their main sessions. */
export interface SessionOwners {
  default: SessionOwner
  /** Returns the default agent for an unknown id. */
  get(id: string): SessionOwner
}

/** Resolves the session of a call, which may be new. Throws `invalid_request` if its key is not one short line. */
export function resolveSession(
  owners: SessionOwners,
  requested: string | undefined,
): Pick<Subject, 'agentId' | 'sessionKey'> {
  if (requested !== undefined) checkSessionKey(requested)
  return locateSession(owners, requested)
}

/**
 * No key, or `main`: the main session of the default agent. `agent:<id>:…` belongs to that agent, and any other key to
 * the default agent.
 */
export function locateSession(
  owners: SessionOwners,
  requested: string | undefined,
): Pick<Subject, 'agentId' | 'sessionKey'> {
  const { id, mainSession } = owners.default
  const key = requested?.trim().toLowerCase()
  if (key === undefined || isMainAlias(key) || key === mainSession) return { agentId: id, sessionKey: mainSession }
  if (!key.startsWith('agent:')) return { agentId: id, sessionKey: agentSessionKey(id, key) }
  const [, agentId] = /^agent:([^:]+):./.exec(key) ?? []
  if (agentId === undefined)
    throw new GatewayError(
      'invalid_request',
      'sessionKey must be "main", a key such as "hook:deploys", or "agent:<id>:<key>".',
    )
  return { agentId: owners.get(agentId).id, sessionKey: key }
}
