// Changes payloads one field at a time. Only the fields that a preset's schema names are changed.

export type Schema = Readonly<Record<string, unknown>>

export type Path = readonly string[]

/** The paths to all values that the schema describes. */
export function pathsOf(value: unknown, schemas: readonly Schema[], path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.length === 7) return []
  // The elements of a list are alike.
  const keys = Object.keys(value).slice(0, Array.isArray(value) ? 2 : 60)
  return keys.flatMap((key) => {
    const found = schemasFor(schemas, key)
    const here = path.concat(key)
    const inner = (value as Record<string, unknown>)[key]
    return found.length === 0 ? [] : [here].concat(pathsOf(inner, found, here) as string[][])
  })
}

/** The part of a payload that the schema describes. It keeps the tests fast: most of a payload is not read. */
export function readOnly(value: unknown, schemas: readonly Schema[]): unknown {
  if (Array.isArray(value)) return value.map((inner, index) => readOnly(inner, schemasFor(schemas, String(index))))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).flatMap(([key, inner]) => {
    const found = schemasFor(schemas, key)
    return found.length === 0 ? [] : [[key, readOnly(inner, found)] as const]
  })
  return Object.fromEntries(fields)
}

const schemasFor = (schemas: readonly Schema[], key: string): Schema[] =>
  schemas.flatMap((schema) => schemasOf(schema, key))

/** The schemas of a field. A schema without any rule accepts all fields, so their values matter, too. */
function schemasOf(schema: Schema, key: string): Schema[] {
  if (Array.isArray(schema['anyOf'])) return (schema['anyOf'] as Schema[]).flatMap((each) => schemasOf(each, key))
  const { properties, items, patternProperties, type } = schema as Record<string, Record<string, Schema> | undefined>
  if (properties && Object.hasOwn(properties, key)) return [properties[key]!]
  if (items && /^\d+$/.test(key)) return [items]
  if (patternProperties) return Object.values(patternProperties)
  return type === undefined && !properties ? [{}] : []
}

/** A copy of a payload with another value at a path, or without the field if the value is `undefined`. */
export function withValue(payload: unknown, [key = '', ...rest]: Path, value: unknown): unknown {
  const copy = (Array.isArray(payload) ? [...(payload as unknown[])] : { ...(payload as object) }) as Record<
    string,
    unknown
  >
  if (rest.length > 0) copy[key] = withValue(copy[key], rest, value)
  else if (value !== undefined) copy[key] = value
  else if (Array.isArray(copy)) copy.splice(Number(key), 1)
  else Reflect.deleteProperty(copy, key)
  return copy
}
