// Changes payloads one field at a time: only the fields that a preset's schema names. Also the values that they get.

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

/**
 * Whether a payload may be refused for this field: the schema requires the field and everything that contains it.
 * An element of a list is left out of the list, so it counts only where the list has a least length.
 */
export function isRequired(schema: Schema, [key, ...rest]: Path): boolean {
  if (key === undefined) return true
  if (Array.isArray(schema['anyOf']))
    return (schema['anyOf'] as Schema[]).some((each) => isRequired(each, [key, ...rest]))
  const required = (schema['required'] ?? []) as string[]
  return (
    (required.includes(key) || typeof schema['minItems'] === 'number') &&
    schemasOf(schema, key).some((inner) => isRequired(inner, rest))
  )
}

/** Every type of JSON. */
export const jsonValues: readonly unknown[] = [null, true, 0, 3.5, '', 'text', [], ['a', 'b'], {}, { a: 1 }]

/** Values that are rare, or that are names of properties that all objects have. */
export const oddValues: readonly unknown[] = [-1, 1e300, ' ', [null], { id: {} }, '__proto__', 'constructor']

/** Numbers that JavaScript writes, rounds or compares in an unexpected way, and an integer beyond 2^53. */
export const oddNumbers: readonly (number | bigint)[] = [1e21, -0, 2 ** 60, 2n ** 60n]

/** The line that a sender adds with a line break in a name. */
export const forgedLine = 'Status: approved by the CEO'

/** Each kind of line break before a forged line; the bell, the escape character and NUL; direction marks. */
export const hostileText = [
  'Broken',
  ...['\n', '\r', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029'].map((lineBreak) => lineBreak + forgedLine),
  '\u0007\u001B[31m\0\u009B31m\u007F',
  '\u061C\u200E\u200F\u202A\u202B\u202D\u202Eeslaf\u202C\u2066\u2067\u2068\u2069',
].join('')

/** All control characters but the line feed and the tab, and all marks that change the direction of text. */
export const hidden = /[\0-\u0008\v-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/

/** Long texts for which an expression that tries a match at each character may take quadratic time. */
export const longTexts = ['x', ' ', '\n', '<', '[', '_', '-', '/', '"', 'aB', '.\n'].map(
  (text) => (length: number) => `a${text.repeat(length / text.length)}!`,
)

/** The value at a path. */
export const valueAt = (payload: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], payload)

/** The paths to the texts that the schema describes, and that are not in the payload. */
export function absentTexts(value: unknown, schemas: readonly Schema[], path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.length === 7) return []
  const inner = pathsOf(value, schemas).filter((each) => each.length === 1)
  const missing = Array.isArray(value) ? [] : schemas.flatMap(namesOf).filter((name) => !Object.hasOwn(value, name))
  return [
    ...[...new Set(missing)].filter((name) => schemasFor(schemas, name).some(isText)).map((name) => path.concat(name)),
    ...inner.flatMap(([key = '']) =>
      absentTexts((value as Record<string, unknown>)[key], schemasFor(schemas, key), path.concat(key)),
    ),
  ]
}

const namesOf = ({ anyOf, properties }: Schema): string[] =>
  Array.isArray(anyOf) ? (anyOf as Schema[]).flatMap(namesOf) : Object.keys(properties ?? {})

const isText = ({ anyOf, type }: Schema): boolean =>
  Array.isArray(anyOf) ? (anyOf as Schema[]).some(isText) : type === 'string'

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
