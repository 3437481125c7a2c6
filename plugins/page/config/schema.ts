// Finds what the JSON Schema of the configuration says about a key.
export interface Schema {
  type?: string | readonly string[]
  description?: string
  properties?: Readonly<Record<string, Schema>>
  patternProperties?: Readonly<Record<string, Schema>>
  additionalProperties?: boolean | Schema
  required?: readonly string[]
  items?: Schema
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  maximum?: number
  anyOf?: readonly Schema[]
  allOf?: readonly Schema[]
  if?: Schema
  then?: Schema
  /** The value is a secret. */
  secret?: boolean
}

/** The schemas that apply to a value together: its own, its alternatives, and those that its value selects. */
export function schemasOf(schema: Schema | undefined, value: unknown): Schema[] {
  if (schema === undefined) return []
  const { anyOf = [], allOf = [], if: condition, then: selected } = schema
  const own = condition === undefined ? [schema] : []
  const further = condition !== undefined && fits(condition, value) && selected ? [selected] : []
  return [...own, ...[...anyOf, ...allOf, ...further].flatMap((one) => schemasOf(one, value))]
}

/** A condition compares keys with constants. */
const fits = ({ properties = {} }: Schema, value: unknown): boolean =>
  Object.entries(properties).every(([key, { const: wanted }]) => isRecord(value) && value[key] === wanted)

/** The keys that an object may have. */
export function propertiesOf(schema: Schema | undefined, value: unknown): Map<string, Schema> {
  const all = schemasOf(schema, value).flatMap(({ properties = {} }) => Object.entries(properties))
  return new Map(all)
}

/** The schema of the entries that an object or a list may have under any name or index. */
export function entrySchemaOf(schema: Schema | undefined, value: unknown): Schema | undefined {
  for (const { items, patternProperties = {}, additionalProperties } of schemasOf(schema, value)) {
    const [pattern] = Object.values(patternProperties)
    const found = items ?? pattern ?? additionalProperties
    if (typeof found === 'object') return found
  }
  return undefined
}

/** The schema of the value at a path, in a document that may select alternatives. */
export function schemaAt(root: Schema, path: readonly string[], document: unknown): Schema | undefined {
  let schema: Schema | undefined = root
  let value = document
  for (const key of path) {
    schema = propertiesOf(schema, value).get(key) ?? entrySchemaOf(schema, value)
    value = childOf(value, key)
  }
  return schema
}

export const childOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

/** The values that can be listed: those of an enumeration, and `true` and `false`. */
export function choicesOf(schema: Schema | undefined): (string | number | boolean)[] {
  const choices = schemasOf(schema, undefined).flatMap((one) => {
    if (one.enum) return one.enum
    if (one.const !== undefined) return [one.const]
    return one.type === 'boolean' ? [true, false] : []
  })
  return choices.filter((choice) => ['string', 'number', 'boolean'].includes(typeof choice)) as (
    | string
    | number
    | boolean
  )[]
}

export const typesOf = (schema: Schema | undefined): ReadonlySet<string> =>
  new Set(
    schemasOf(schema, undefined).flatMap(({ type = [], enum: values = [] }) =>
      [type].flat().concat(values.map((value) => typeof value)),
    ),
  )

/** What kind of value is expected, for people: `"a" or "b"`, `whole number`, `list`. */
export function describeType(schema: Schema | undefined): string {
  const choices = choicesOf(schema)
  if (choices.length > 0 && choices.length <= maxNamed)
    return choices.map((choice) => JSON.stringify(choice)).join(' or ')
  return [...typesOf(schema)].map((type) => typeNames[type] ?? type).join(' or ')
}

const maxNamed = 8
const typeNames: Readonly<Record<string, string>> = { integer: 'whole number', array: 'list', string: 'text' }

/** The default as it is written in the file. Objects have one to say that they may be absent. */
export function describeDefault(schema: Schema | undefined): string | undefined {
  const value = schema?.default
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return undefined
  return JSON.stringify(value)
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `hooks.mappings[0].match`, as the gateway writes paths. */
export const formatPath = (path: readonly string[]): string =>
  path.reduce((text, key) => (/^\d+$/.test(key) ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`), '')
