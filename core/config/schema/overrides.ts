// Turns the schema of a section into that of a section which overrides it: no key is required, none has a default.
import { type Static, type TSchema, Type } from '../../typebox.ts'

type Properties = Record<string, Record<string, unknown>>

/** The same keys, all optional and without defaults, so that an absent key leaves what it overrides as it is. */
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
