// What a tool returned, made plain JSON and bounded.
import { GatewayError } from '../errors.ts'
import type { Json } from '../plugin.ts'
import { wellFormedJson } from '../well-formed.ts'

/** The longest result, as the length of its JSON: what is longer is refused, not cut. */
export const maxResultLength = 10 * 1024 * 1024

/**
 * A copy that survives JSON; nothing returned becomes null. Throws `tool_failed` for what JSON cannot hold, or what is
 * too long.
 */
export function jsonResult(value: unknown): Json {
  if (value === undefined || value === null) return null
  const text = stringify(value)
  if (text.length > maxResultLength) throw failed(`its result is longer than ${maxResultLength} characters of JSON`)
  return wellFormedJson(text, JSON.parse(text) as Json)
}

function stringify(value: unknown): string {
  try {
    const text: unknown = JSON.stringify(value)
    if (typeof text === 'string') return text
  } catch (cause) {
    throw failed('its result does not fit into JSON', cause)
  }
  throw failed(`its result is a ${typeof value}`)
}

const failed = (why: string, cause?: unknown) =>
  new GatewayError('tool_failed', undefined, { cause: new TypeError(`The tool failed: ${why}.`, { cause }) })
