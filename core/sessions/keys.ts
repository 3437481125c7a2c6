// What a session key means, and who may choose one.
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'

/** The main session of an agent: `global` in global scope, else `agent:<id>:<session.mainKey>`. */
export function mainSessionKey(config: Config, agentId: string): string {
  return config.session.scope === 'global' ? 'global' : agentSessionKey(agentId, config.session.mainKey)
}

/** A key that has its agent in front already stays as it is. */
export function agentSessionKey(agentId: string, key: string): string {
  const own = `agent:${agentId}:`
  const lower = key.trim().toLowerCase()
  return lower.startsWith(own) ? lower : own + lower
}

/** `main` or nothing means the main session, as everywhere in the interface. */
export const isMainAlias = (key: string | undefined): boolean => key === undefined || key === 'main'

export interface HookSessionRequest {
  agentId: string
  /** The key that the sender chooses. */
  requested?: string | undefined
  /** The key that the operator has set in a mapping; it goes before the sender's. */
  fixed?: string | undefined
  /** Names a session of its own. In order of time, so that the rows of new sessions lie together on the disk. */
  createId: () => string
}

/**
 * The session of a hook's run: the mapping's key, or the sender's where that is allowed, else the configured default,
 * else one of its own.
 */
export function resolveHookSessionKey(
  config: Config,
  { agentId, requested, fixed, createId }: HookSessionRequest,
): string {
  const { hooks } = config
  const explicit = fixed ?? requested
  if (explicit === undefined) return agentSessionKey(agentId, hooks.defaultSessionKey ?? `hook:${createId()}`)
  if (fixed === undefined && !hooks.allowRequestSessionKey) {
    throw new GatewayError(
      'invalid_request',
      'sessionKey is not accepted here; leave it out, or set hooks.allowRequestSessionKey to true.',
    )
  }
  const asked = explicit.trim().toLowerCase()
  const key = ownKey(asked, agentId)
  const prefixes = hooks.allowedSessionKeyPrefixes
  // A prefix may be written with the agent in front or without, as the key may.
  if (
    prefixes &&
    !prefixes.some((prefix) => [key, asked].some((spelling) => spelling.startsWith(prefix.trim().toLowerCase())))
  ) {
    throw new GatewayError(
      'invalid_request',
      'sessionKey must begin with one of the prefixes in hooks.allowedSessionKeyPrefixes.',
    )
  }
  return agentSessionKey(agentId, key)
}

/**
 * Takes the agent's own prefix off; a key of another agent is refused, so that a payload can't speak in a foreign
 * conversation.
 */
function ownKey(key: string, agentId: string): string {
  if (!key.startsWith('agent:')) return key
  const own = `agent:${agentId}:`
  if (!key.startsWith(own) || key.length === own.length) {
    throw new GatewayError(
      'invalid_request',
      'sessionKey belongs to another agent; name that agent in agentId, or use a key without "agent:".',
    )
  }
  return key.slice(own.length)
}
