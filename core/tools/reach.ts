// The agents that a caller may reach: a client may be limited to some, and so is everything that it has started.
import type { Config } from '../config/schema/schema.ts'
import { ownName, type Principal, reaches, requireAgent } from '../http/access.ts'
import type { SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

/** Whether the subject may reach an agent. */
export type Reach = (subject: Pick<Subject, 'client' | 'initiators'>, agentId: string) => boolean

/** A client that the configuration no longer has reaches nothing. */
export function createReach({ gateway }: Pick<Config, 'gateway'>): Reach {
  const clients = new Map(gateway.auth.clients.map((client) => [client.name, client]))
  return ({ client, initiators = [] }, agentId) =>
    [client, ...initiators.map((initiator) => initiator.client)].every(
      (name) => name === undefined || reaches(clients.get(name) ?? { agents: [] }, agentId),
    )
}

/**
 * The agents for a client, which learns nothing about the others: the first of its own is its default agent, and
 * naming any other throws `forbidden`.
 */
export function ownersFor(owners: SessionOwners, principal: Principal): SessionOwners {
  const [first] = principal.agents ?? []
  if (first === undefined) return owners
  return {
    default: reaches(principal, owners.default.id) ? owners.default : owners.get(first),
    get: (id) => {
      requireAgent(principal, id)
      return owners.get(id)
    },
  }
}

/** The name of a client, as the policy knows it. The gateway's own credential has no lists of its own. */
export const clientOf = ({ name }: Principal): string | undefined => (name === ownName ? undefined : name)
