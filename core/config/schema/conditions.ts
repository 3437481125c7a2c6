// Conditions on the headers, the payload and the elements of a webhook, in the keys `match` and `skip` of a mapping.
import { OptionalFlag } from '../../field-schemas.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'

export type Scalar = string | number | boolean | null
const scalars = ['string', 'number', 'boolean', 'null']

// `type` as a list, instead of a union, leads to one clear problem for a wrong value.
const Scalar = (description: string) => Type.Optional(Type.Unsafe<Scalar>({ type: scalars, description }))
const Text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const Tests = Type.Object({
  equals: Scalar('The value is this one, of the same type.'),
  in: Type.Optional(
    Type.Array(Type.Unsafe<Scalar>({ type: scalars }), { minItems: 1, description: 'The value is one of these.' }),
  ),
  exists: OptionalFlag('Whether there is a value, which may be null.'),
  startsWith: Text('The value is a text that starts with this one.'),
  endsWith: Text('The value is a text that ends with this one.'),
  contains: Scalar('The value is a text that contains this one, or a list that has it as an element.'),
  matches: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The value is a text of this pattern: `*` stands for any characters, `?` for one.',
    }),
  ),
})
export type Tests = Static<typeof Tests>

/** A value, or tests of which none may succeed. */
const Not = Type.Unsafe<Scalar | Tests>({
  type: [...scalars, 'object'],
  properties: Tests.properties,
  additionalProperties: false,
  minProperties: 1,
  description: 'The value is not this one, or these tests do not all succeed.',
})

/** A value, or tests that must all succeed. */
export type Condition = Scalar | (Tests & { not?: Scalar | Tests })
const Condition = Type.Unsafe<Condition>({
  type: [...scalars, 'object'],
  properties: { ...Tests.properties, not: Not },
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

/** Conditions of `skip`, which may also be on the elements of `forEach`. */
const SkipConditions = Type.Object({
  ...Conditions.properties,
  item: conditionsOn(
    'With `forEach`: path in the element → its value, or tests of it. Only such elements are skipped.',
  ),
})
export type SkipConditions = Static<typeof SkipConditions>

export const Skip = Type.Unsafe<SkipConditions | SkipConditions[]>({
  type: ['object', 'array'],
  properties: SkipConditions.properties,
  additionalProperties: false,
  minProperties: 1,
  items: { ...SkipConditions, additionalProperties: false, minProperties: 1 },
  minItems: 1,
  description: 'Requests that are accepted and start nothing: conditions, or a list of which one must hold.',
})
