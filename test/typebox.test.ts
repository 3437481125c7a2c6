// What does not fit a schema is told in one sentence for each place.
import { describe, expect, it } from 'vitest'
import { compileCheck, firstProblem, type JsonSchema, listProblems, Type } from '../core/typebox.ts'

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
