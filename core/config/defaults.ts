// Fills in the defaults of a schema.
import type { JsonSchema } from '../typebox.ts'
import { childSchema, isRecord } from './walk.ts'

/** Returns a copy of `value` with defaults for absent keys. Existing values are kept, even invalid ones. */
export function fillDefaults(schema: JsonSchema, value: unknown): unknown {
  const { default: fallback, properties } = schema as { default?: unknown; properties?: object }
  if (value === undefined)
    return fallback === undefined
      ? undefined
      : fillDefaults({ ...schema, default: undefined }, structuredClone(fallback))
  const fill = (key: string, child: unknown) => {
    const known = childSchema(schema, key)
    return known ? fillDefaults(known, child) : child
  }
  if (Array.isArray(value)) return value.map((item, index) => fill(String(index), item))
  if (!isRecord(value)) return value
  const keys = new Set([...Object.keys(properties ?? {}), ...Object.keys(value)])
  return Object.fromEntries(
    [...keys]
      .map((key) => [key, fill(key, Object.hasOwn(value, key) ? value[key] : undefined)])
      .filter(([, child]) => child !== undefined),
  )
}
