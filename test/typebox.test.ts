// What does not fit a schema is told in one sentence for each place.
import { describe, expect, it } from 'vitest'
import { compileCheck, findSchemaProblems, firstProblem, type JsonSchema, listProblems, Type } from '../core/typebox.ts'

const schema = Type.Object(
  {
    name: Type.String({ minLength: 2 }),
    size: Type.Optional(Type.Enum(['s', 'm'])),
    parts: Type.Optional(
      Type.Record(Type.String(), Type.Object({ id: Type.Integer() }, { additionalProperties: false })),
    ),
  },
  { additionalProperties: false },
)

describe.each([
  ['compileCheck', (json: JsonSchema, value: unknown) => compileCheck(json).problems(value)],
  ['listProblems', listProblems],
])('%s', (_, problemsIn) => {
  const told = (json: JsonSchema, value: unknown) =>
    problemsIn(json, value).map(({ path, problem }) => `${path} ${problem}`)

  it('finds nothing in what fits', () => {
    expect(told(schema, { name: 'ab', parts: { a: { id: 1 } } })).toEqual([])
  })

  it('tells each place once, however deep', () => {
    const value = { name: 'a', size: 'l', extra: 1, parts: { 'a/b~c': { id: '1' }, '0': { id: 1, ix: 2 }, c: 5 } }
    expect(told(schema, value).toSorted()).toEqual([
      'extra is not a known key',
      'name must have at least 2 characters',
      'parts.a/b~c.id must be a whole number',
      'parts.c must be an object',
      'parts[0].ix is not a known key',
      'size must be one of "s", "m"',
    ])
  })

  it('gives the keys of the path as they are', () => {
    expect(problemsIn(schema, { name: 'ab', parts: { 'a/b~c': {} } }).map(({ keys }) => keys)).toEqual([
      ['parts', 'a/b~c', 'id'],
    ])
  })

  it('names all alternatives of a union, if no single one is meant', () => {
    const file = Type.Object({ file: Type.String() }, { additionalProperties: false })
    const secret = Type.Object({ key: Type.Union([Type.String({ minLength: 1 }), file, Type.Null()]) })
    expect(told(secret, { key: 5 })).toEqual(['key must be a string, { file } or null'])
    expect(told(secret, { key: {} })).toEqual(['key.file is required'])
    expect(told(secret, { key: { file: 5 } })).toEqual(['key.file must be a string'])
    expect(told(secret, { key: '' })).toEqual(['key must not be empty'])
    const list = Type.Array(secret.properties.key)
    expect(told(list, [5, 'x', { file: 5 }])).toEqual([
      '[0] must be a string, { file } or null',
      '[2].file must be a string',
    ])
  })

  it('names the variants of a union of objects, and what the meant one lacks', () => {
    const Shape = Type.Union([
      Type.Object({ kind: Type.Literal('circle'), radius: Type.Number() }),
      Type.Object({ kind: Type.Literal('square'), side: Type.Number(), color: Type.Optional(Type.String()) }),
    ])
    expect(told(Shape, { kind: 'square' })).toEqual(['side is required'])
    expect(told(Shape, { kind: 'line' })).toEqual([' must be { kind: "circle", radius } or { kind: "square", side }'])
    const some = {
      $defs: { Size: { oneOf: [{ enum: ['s', 'm'] }, { type: 'integer' }] } },
      items: { $ref: '#/$defs/Size' },
    }
    expect(told(some, ['l'])).toEqual(['[0] must be "s", "m" or a whole number'])
  })

  it('prefers the sentence of the schema', () => {
    const own = { errorMessage: 'must be the code of a currency, such as "EUR"' }
    const price = Type.Object({
      currency: Type.String({ pattern: '^[A-Z]{3}$', ...own }),
      either: Type.Optional(
        Type.Union([Type.String(), Type.Null()], { errorMessage: 'must be a text, or left out.\nX' }),
      ),
    })
    for (const currency of ['euro', 5]) expect(told(price, { currency })).toEqual([`currency ${own.errorMessage}`])
    expect(told(price, {})).toEqual(['currency is required'])
    expect(told(price, { currency: 'EUR', either: 5 })).toEqual(['either must be a text, or left out'])
  })

  it('does not overlook a value that nothing allows', () => {
    expect(told({ type: 'object', properties: { legacy: false } }, { legacy: 1 })).toEqual(['legacy is not allowed'])
  })
})

describe('listProblems', () => {
  it('does not stop after the first few, and leaves that as it was for requests', () => {
    const list = Type.Array(Type.String())
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    expect(listProblems(list, numbers)).toHaveLength(50)
    expect(compileCheck(list).problems(numbers)).toHaveLength(8)
  })
})

describe('firstProblem', () => {
  it('names what is wrong rather than what is merely unknown', () => {
    expect(firstProblem(listProblems(schema, { extra: 1, name: 5 }))).toBe('name must be a string')
    expect(firstProblem(listProblems(schema, 5))).toBe('the body must be an object')
  })
})

describe('findSchemaProblems', () => {
  it.each<[object, string]>([
    [{ type: 'strng' }, 'type must be "array"'],
    [{ type: ['string', 'nul'] }, 'type[1] must be one of "array"'],
    [{ properties: { a: { items: { type: 'int' } } } }, 'properties.a.items.type must be'],
    [{ properties: { a: 'string' } }, 'properties.a must be a JSON Schema'],
    [{ properties: [] }, 'properties must be an object'],
    [{ required: 'a' }, 'required must be a list'],
    [{ enum: 'a' }, 'enum must be a list'],
    [{ anyOf: [] }, 'anyOf must not be empty'],
    [{ minLength: '5' }, 'minLength must be a whole number'],
  ])('finds what is not JSON Schema: %j', (json, problem) => {
    expect(
      findSchemaProblems(json)
        .map((one) => `${one.path} ${one.problem}`)
        .join(),
    ).toContain(problem)
  })

  it('accepts whatever Type builds', () => {
    const built = Type.Object({
      a: Type.Optional(Type.Union([Type.String({ secret: true, format: 'date' }), Type.Null()])),
      b: Type.Record(Type.String(), Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1 })),
      c: Type.Tuple([Type.Literal('x'), Type.Unknown()]),
      d: Type.Intersect([Type.Object({}), Type.Object({ e: Type.Boolean({ default: false }) })]),
    })
    expect(findSchemaProblems(built)).toEqual([])
  })
})
