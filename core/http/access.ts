// Decides what a client may do: each route, method and tool call declares what it needs, and one function checks it.
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'

/** `read` needs the role viewer, `operate` the role operator, `admin` the role admin. */
export type Need = 'read' | 'operate' | 'admin'
export const roles = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

export interface Access {
  needs: Need
  /**
   * `agents`: it concerns one agent, or lists what belongs to agents, and limits itself to those that the caller may
   * reach. `gateway`: it concerns the whole gateway, so that a client of some agents may not use it. `public`: it shows
   * nothing of any agent.
   */
  scope: 'agents' | 'gateway' | 'public'
  /** What it changes, in the audit log: a noun and a verb, such as `run.cancel`. Absent: it changes nothing. */
  action?: string
  /** True: the gateway records the action when it is done. Otherwise the change itself records it. */
  recordsAfter?: true
}

/** Who calls: the gateway's own credential, or a client of `gateway.auth.clients`. */
export interface Principal {
  name: string
  role: Role
  /** The agents that it may reach. Absent: all. */
  agents?: readonly string[] | undefined
  /** Whether it may read what was said: bodies, messages, replies, arguments and results. */
  content: boolean
  /** When its token expires, in Unix milliseconds. Absent: never. */
  expiresAt?: number | undefined
}

/** The name of the gateway's own credential, which no client may have. */
export const ownName = 'gateway'

/** The gateway's own credential may do everything. */
export const ownPrincipal: Principal = { name: ownName, role: 'admin', content: true }

/** An admin can read the configuration, so hiding contents from it would promise too much. */
export const mayReadContent = (role: Role, content: boolean | undefined): boolean =>
  role === 'admin' || (content ?? role !== 'viewer')

/** The lowest role that may do it. */
export const neededRole: Record<Need, Role> = { read: 'viewer', operate: 'operator', admin: 'admin' }

/** A sentence that names what is missing. Undefined: the client may do it. */
export function refusalOf(
  { name, role, agents }: Pick<Principal, 'name' | 'role' | 'agents'>,
  { needs, scope }: Access,
): string | undefined {
  const needed = neededRole[needs]
  if (roles.indexOf(role) < roles.indexOf(needed))
    return `The client "${name}" has the role ${role}; this needs the role ${needed}.`
  if (agents && scope === 'gateway')
    return (
      `The client "${name}" is limited to agents; this concerns the whole gateway and needs a client with the role ` +
      `${needed} and without "agents".`
    )
  return undefined
}

/** Throws `forbidden` unless the client may do it. */
export function authorize(principal: Principal, access: Access): void {
  const refusal = refusalOf(principal, access)
  if (refusal !== undefined) throw new GatewayError('forbidden', refusal)
}

/** Throws `forbidden` unless the client may read what was said. */
export function requireContent({ name, content }: Principal, what: string): void {
  if (!content)
    throw new GatewayError('forbidden', `The client "${name}" may not read contents; ${what} needs "content: true".`)
}

export const reaches = ({ agents }: Pick<Principal, 'agents'>, agentId: string | undefined): boolean =>
  !agents || (agentId !== undefined && agents.includes(agentId))

/** Throws `forbidden` if the client may not reach the agent. It learns nothing about which agents exist. */
export function requireAgent(principal: Principal, agentId: string): void {
  if (!reaches(principal, agentId)) throw new GatewayError('forbidden', describeReach(principal))
}

export const describeReach = ({ name, agents = [] }: Pick<Principal, 'name' | 'agents'>): string =>
  `The client "${name}" may reach only these agents: ${agents.join(', ')}.`

export interface RouteGuard {
  /** Checks the credential and the role of the caller. */
  auth: onRequestHookHandler
  /** Called when the caller may not do what it asks for. */
  onRefused(request: FastifyRequest): void
}

/** Guards the routes of a scope, each of which must declare its access. Call it before you register routes. */
export function guardRoutes(scope: FastifyInstance, { auth, onRefused }: RouteGuard): void {
  scope.addHook('onRequest', auth)
  scope.addHook('onError', async (request, _reply, error) => {
    if (error instanceof GatewayError && error.code === 'forbidden') onRefused(request)
  })
  scope.addHook('onRoute', ({ url, config }) => {
    if (!config?.access) throw new Error(`The route ${url} does not declare its access.`)
  })
}
