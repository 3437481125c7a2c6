// Converts what a tool returned to plain JSON of limited size.
import { GatewayError } from '../errors.ts'
import type { Json } from '../plugin.ts'
import { wellFormedJson } from '../well-formed.ts'

/** Maximum length of a result's JSON. A longer result is refused, not cut. */
export const maxResultLength = 10 * 1024 * 1024

/** A JSON copy of the value; undefined becomes null. Throws `tool_failed` if it cannot be JSON or is too long. */
export function toJsonResult(value: unknown): Json {
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
    throw failed('its result cannot be converted to JSON', cause)
  }
  throw failed(`its result is a ${typeof value}`)
}

const failed = (why: string, cause?: unknown) =>
  new GatewayError('tool_failed', undefined, { cause: new TypeError(`The tool failed: ${why}.`, { cause }) })
