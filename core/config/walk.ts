// Walks a value and its schema side by side: what a key's schema is, and which values are secrets.
import type { JsonSchema } from '../typebox.ts'

type Node = Readonly<Record<string, unknown>>

/** Where a walk stands. */
export interface SchemaPosition {
  keys: readonly string[]
  /** The schema of the value; absent where the schema says nothing about it. */
  schema?: JsonSchema | undefined
  /** Whether the schema marks it, or something that holds it, as a secret. */
  secret: boolean
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy of `value` in which `visit` replaces what it likes. Replaced values are not walked into. */
export function replaceValues(
  value: unknown,
  visit: (value: unknown, position: SchemaPosition) => unknown,
  position: SchemaPosition,
): unknown {
  const replaced = visit(value, position)
  if (replaced !== value) return replaced
  const inside = (child: unknown, key: string) => replaceValues(child, visit, positionInside(position, key))
  if (Array.isArray(value)) return value.map((item, index) => inside(item, String(index)))
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, child]) => [key, inside(child, key)]))
    : value
}

/** The place to begin at. */
export const rootPosition = (schema?: JsonSchema): SchemaPosition => ({ keys: [], schema, secret: false })

function positionInside({ keys, schema, secret }: SchemaPosition, key: string): SchemaPosition {
  const child = childSchema(schema, key)
  return {
    keys: [...keys, key],
    schema: child,
    secret: secret || alternatives(child).some((node) => node['secret'] === true),
  }
}

/** The schema of what stands under `key` of an object, or at that index of a list. */
export function childSchema(schema: JsonSchema | undefined, key: string): Node | undefined {
  return alternatives(schema)
    .map(
      (node) =>
        own(node['properties'], key) ??
        byPattern(node['patternProperties'], key) ??
        node['items'] ??
        node['additionalProperties'],
    )
    .find(isRecord)
}

/** The keys that a schema names at this place. */
export function knownKeys(schema: JsonSchema | undefined, keys: readonly string[]): string[] {
  const node = keys.reduce<Node | undefined>(childSchema, schema as Node | undefined)
  return alternatives(node).flatMap(({ properties }) => (isRecord(properties) ? Object.keys(properties) : []))
}

/** A schema and the schemas that it is combined from. */
function alternatives(schema: JsonSchema | undefined): Node[] {
  if (!isRecord(schema)) return []
  const combined = ['allOf', 'anyOf', 'oneOf'].flatMap((word) =>
    Array.isArray(schema[word]) ? (schema[word] as Node[]) : [],
  )
  return [schema, ...combined.flatMap(alternatives)]
}

const own = (properties: unknown, key: string) =>
  isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined

const byPattern = (patterns: unknown, key: string) =>
  isRecord(patterns) ? Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(key))?.[1] : undefined
