// Turns the schema of a section into the schema of a section that overrides it.
import { type Static, type TSchema, Type } from '../../typebox.ts'

type Properties = Record<string, Record<string, unknown>>

/** Makes all keys optional and removes their defaults, so that an absent key overrides nothing. */
export function overridesOf<Schema extends TSchema>(schema: Schema) {
  const {
    required: _required,
    default: _default,
    properties = {},
    ...rest
  } = schema as Record<string, unknown> & { properties?: Properties }
  const optional = Object.entries(properties).map(([key, { default: _ignored, ...property }]) => [key, property])
  return Type.Unsafe<Partial<Static<Schema>>>({ ...rest, properties: Object.fromEntries(optional) })
}
