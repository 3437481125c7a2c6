// Session keys: their form, and which keys a webhook may choose.
import { hash } from 'node:crypto'
import type { Config } from '../config/schema/schema.ts'
import { GatewayError } from '../errors.ts'
import { hasHiddenCharacters, line } from '../kit/text.ts'

/** The key of an agent's main session: `global` in global scope, otherwise `agent:<id>:<session.mainKey>`. */
export function mainSessionKey(config: Config, agentId: string): string {
  return config.session.scope === 'global' ? 'global' : agentSessionKey(agentId, config.session.mainKey)
}

/** Adds the prefix `agent:<id>:` unless the key has it. */
export function agentSessionKey(agentId: string, key: string): string {
  const own = `agent:${agentId}:`
  const lower = key.trim().toLowerCase()
  return lower.startsWith(own) ? lower : own + lower
}

const maxKeyLength = 512

/** Throws `invalid_request` if the key is more than one short line. Keys are shown in lists, logs and prompts. */
export function checkSessionKey(requested: string): void {
  const key = requested.trim()
  if (hasHiddenCharacters(key))
    throw new GatewayError(
      'invalid_request',
      'sessionKey has line breaks, control or direction characters; use one line of plain text.',
    )
  if (key.length > maxKeyLength)
    throw new GatewayError('invalid_request', `sessionKey has more than ${maxKeyLength} characters; use a shorter key.`)
}

/**
 * Makes a key of a payload's texts one line of at most 512 characters: a webhook must not be refused because a title is
 * long. The hash of the whole key keeps long keys apart.
 */
export function shortenSessionKey(key: string): string {
  const whole = line(key, Infinity)
  if (whole.length <= maxKeyLength) return whole
  const end = `-${hash('sha256', whole.toLowerCase()).slice(0, 32)}`
  return whole.slice(0, maxKeyLength - end.length).toWellFormed() + end
}

/** A missing key and `main` mean the main session. */
export const isMainAlias = (key: string | undefined): boolean => key === undefined || key === 'main'

export interface HookSessionRequest {
  agentId: string
  /** The key in the sender's request. */
  requested?: string | undefined
  /** The key that the operator has set in a mapping. It takes precedence over the sender's. */
  fixed?: string | undefined
}

/** The session that the mapping or the sender chose. Returns undefined if neither chose one. */
export function chosenSessionKey(
  { hooks }: Config,
  { agentId, requested, fixed }: HookSessionRequest,
): string | undefined {
  const explicit = fixed ?? requested
  if (explicit === undefined) return undefined
  if (fixed === undefined && !hooks.allowRequestSessionKey) {
    throw new GatewayError(
      'invalid_request',
      'sessionKey is not accepted here; leave it out, or set hooks.allowRequestSessionKey to true.',
    )
  }
  if (fixed === undefined) checkSessionKey(explicit)
  const requestedKey = explicit.trim().toLowerCase()
  const key = stripAgentPrefix(requestedKey, agentId)
  const prefixes = hooks.allowedSessionKeyPrefixes
  // Both the key and the prefix may be written with or without the agent.
  if (
    prefixes &&
    !prefixes.some((prefix) => [key, requestedKey].some((spelling) => spelling.startsWith(prefix.trim().toLowerCase())))
  ) {
    throw new GatewayError(
      'invalid_request',
      'sessionKey must begin with one of the prefixes in hooks.allowedSessionKeyPrefixes.',
    )
  }
  return agentSessionKey(agentId, key)
}

/** Removes the agent's prefix. Refuses keys of other agents, whose conversations a payload must not reach. */
function stripAgentPrefix(key: string, agentId: string): string {
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
