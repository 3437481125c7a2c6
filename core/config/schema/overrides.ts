// Turns the schema of a section into the schema of a section that overrides it, or that need not be complete.
import { type Static, type TSchema, Type } from '../../typebox.ts'

/** Makes all keys optional and removes their defaults, so that an absent key overrides nothing. */
export const overridesOf = <Schema extends TSchema>(schema: Schema) =>
  optionalOf(schema, ({ default: _default, ...property }) => property)

/**
 * Makes all keys optional, for settings that are in several sections or that an extension fills in itself. Their
 * defaults are shown, and not filled in.
 */
export const settingsOf = <Schema extends TSchema>(schema: Schema) =>
  optionalOf(schema, ({ default: value, ...property }) => ({
    ...property,
    ...(value !== undefined && { fallback: value }),
  }))

/** Shows another default of a key, which the description may name as well. */
export const withFallback = (schema: object, value: unknown): object => {
  const { description = '' } = schema as { description?: string }
  const named = `Default: \`${String(value)}\`.`
  return {
    ...schema,
    fallback: value,
    description: description.replace(/Default: (?:`[^`]*`|"[^"]*"|[\w.]+)\.$/, () => named),
  }
}

type Property = Record<string, unknown>

function optionalOf<Schema extends TSchema>(schema: Schema, change: (property: Property) => Property) {
  const {
    required: _required,
    default: _default,
    properties = {},
    ...rest
  } = schema as Record<string, unknown> & { properties?: Record<string, Property> }
  const optional = Object.entries(properties).map(([key, property]) => [key, change(property)])
  return Type.Unsafe<Partial<Static<Schema>>>({ ...rest, properties: Object.fromEntries(optional) })
}
