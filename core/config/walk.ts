// Walks a value together with its schema, to find the schema of each key and the secrets.
import type { JsonSchema } from '../typebox.ts'

type Node = Readonly<Record<string, unknown>>

/** The current position of a walk. */
export interface SchemaPosition {
  keys: readonly string[]
  /** The schema of the value; absent if there is none. */
  schema?: JsonSchema | undefined
  /** Whether the schema marks it, or a parent, as a secret. */
  secret: boolean
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Visit = (value: unknown, position: SchemaPosition) => unknown

/** Returns a copy of `value` with the replacements of `visit`. Replaced values are not visited further. */
export const replaceValues = (value: unknown, schema: JsonSchema | undefined, visit: Visit): unknown =>
  replaceInside(value, rootPosition(schema), visit)

function replaceInside(value: unknown, position: SchemaPosition, visit: Visit): unknown {
  const replaced = visit(value, position)
  if (replaced !== value) return replaced
  const inside = (child: unknown, key: string) => replaceInside(child, positionInside(position, key), visit)
  if (Array.isArray(value)) return value.map((item, index) => inside(item, String(index)))
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, child]) => [key, inside(child, key)]))
    : value
}

/** The start of a walk. */
const rootPosition = (schema: JsonSchema | undefined): SchemaPosition => ({ keys: [], schema, secret: false })

function positionInside({ keys, schema, secret }: SchemaPosition, key: string): SchemaPosition {
  const child = childSchema(schema, key)
  return {
    keys: [...keys, key],
    schema: child,
    secret: secret || alternatives(child).some((node) => node['secret'] === true),
  }
}

/** The schema of a key of an object, or of an index of a list. */
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

/** The keys that the schema declares at this position. */
export function knownKeys(schema: JsonSchema | undefined, keys: readonly string[]): string[] {
  const node = keys.reduce<Node | undefined>(childSchema, schema as Node | undefined)
  return alternatives(node).flatMap(({ properties }) => (isRecord(properties) ? Object.keys(properties) : []))
}

/** Whether the schema marks the value at this position as a secret. */
export const isSecretAt = (schema: JsonSchema | undefined, keys: readonly string[]): boolean =>
  keys.reduce(positionInside, rootPosition(schema)).secret

/** A schema and the schemas that it combines. */
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
