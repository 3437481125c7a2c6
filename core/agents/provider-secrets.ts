// Finds the secret values in settings by what their schema marks as secret.
import type { JsonSchema } from '../typebox.ts'

interface SchemaNode {
  secret?: unknown
  properties?: Record<string, SchemaNode>
  additionalProperties?: SchemaNode | boolean
}

/** Every string at or below a place that the schema marks with `secret: true`. */
export function secretsIn(settings: unknown, schema: JsonSchema | SchemaNode | undefined, secret = false): string[] {
  const node = (schema ?? {}) as SchemaNode
  const marked = secret || node.secret === true
  if (typeof settings === 'string') return marked && settings ? [settings] : []
  if (typeof settings !== 'object' || settings === null) return []
  const others = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined
  return Object.entries(settings).flatMap(([key, value]) => secretsIn(value, node.properties?.[key] ?? others, marked))
}
