// Conditions on the headers and the payload of a webhook, in the keys `match` and `skip` of a mapping.
import { notBlank, type Static, Type } from '../../typebox.ts'

type Scalar = string | number | boolean | null
const scalars = ['string', 'number', 'boolean', 'null']

// `type` as a list, instead of a union, leads to one clear problem for a wrong value.
const Scalar = (description: string) => Type.Optional(Type.Unsafe<Scalar>({ type: scalars, description }))
const Text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const Tests = Type.Object({
  equals: Scalar('The value is this one, of the same type.'),
  in: Type.Optional(
    Type.Array(Type.Unsafe<Scalar>({ type: scalars }), { minItems: 1, description: 'The value is one of these.' }),
  ),
  exists: Type.Optional(Type.Boolean({ description: 'Whether there is a value, which may be null.' })),
  startsWith: Text('The value is a text that starts with this one.'),
  endsWith: Text('The value is a text that ends with this one.'),
})
export type Tests = Static<typeof Tests>

/** A value, or tests that must all succeed. */
export type Condition = Scalar | Tests
const Condition = Type.Unsafe<Condition>({
  type: [...scalars, 'object'],
  properties: Tests.properties,
  additionalProperties: false,
  minProperties: 1,
  description: 'A value, or tests that must all succeed.',
})

const conditionsOn = (description: string) =>
  Type.Optional(
    Type.Record(Type.String({ pattern: notBlank }), Condition, {
      minProperties: 1,
      additionalProperties: false,
      description,
    }),
  )

/** All conditions must hold. */
export const Conditions = Type.Object({
  headers: conditionsOn('Name of a header → its value, or tests of it.'),
  payload: conditionsOn('Path in the payload, such as `issue.state` or `items[0].id` → its value, or tests of it.'),
})
export type Conditions = Static<typeof Conditions>

export const Skip = Type.Unsafe<Conditions | Conditions[]>({
  type: ['object', 'array'],
  properties: Conditions.properties,
  additionalProperties: false,
  minProperties: 1,
  items: { ...Conditions, additionalProperties: false, minProperties: 1 },
  minItems: 1,
  description: 'Requests that are accepted and start nothing: conditions, or a list of which one must hold.',
})
