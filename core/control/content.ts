// Removes from a response what was said, for clients that may not read it. Schemas mark it with `x-content`.
import type { JsonSchema } from '../typebox.ts'

/** The options of a schema whose value only clients with `content: true` get. The property must be optional. */
export const content = { 'x-content': true } as const

interface Node {
  'x-content'?: true
  properties?: Readonly<Record<string, Node>>
  items?: Node
  anyOf?: readonly Node[]
}

/** A copy of the value without the properties that the schema marks. */
export function withoutContent(schema: JsonSchema | undefined, value: unknown): unknown {
  const { properties, items, anyOf } = (schema ?? {}) as Node
  if (Array.isArray(value)) return items ? value.map((item) => withoutContent(items as JsonSchema, item)) : value
  if (typeof value !== 'object' || value === null) return value
  if (anyOf) return anyOf.reduce((rest: unknown, one) => withoutContent(one as JsonSchema, rest), value)
  if (!properties) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, child]) => {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined
      return property?.['x-content'] ? [] : [[key, withoutContent(property, child)]]
    }),
  )
}
