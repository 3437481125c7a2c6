// The only file that imports TypeBox: building schemas, compiling them once, and saying in one sentence what does not fit.
import { type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

export { type Static, type TSchema, Type } from 'typebox'

/** Any JSON Schema object: of typebox 1.x, of @sinclair/typebox, or written by hand. */
export type JsonSchema = TSchema | Readonly<Record<string, unknown>>

export interface Problem {
  /** Dotted path to the value, e.g. `args.city` or `items[2].id`; empty for the value itself. */
  path: string
  /** What is wrong with it and what would be right, without the value: `must be a string`. */
  problem: string
}

export interface Check {
  /** The fast path: does the value fit? */
  fits(value: unknown): boolean
  /** Every way in which it does not fit; empty when it does. */
  problems(value: unknown): Problem[]
}

interface SchemaError {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message: string
}

/** Compiles a schema; throws when it is not a schema that can be compiled. */
export function compileCheck(schema: JsonSchema): Check {
  const validator = Compile(schema as TSchema)
  return {
    fits: (value) => validator.Check(value),
    problems: (value) => (validator.Check(value) ? [] : (validator.Errors(value) as SchemaError[]).flatMap(explain)),
  }
}

const nouns: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function explain(error: SchemaError): Problem[] {
  const path = dotted(error.instancePath)
  const at = (key: string) => (path ? `${path}.${key}` : key)
  const { params } = error
  switch (error.keyword) {
    case 'type':
      return [{ path, problem: `must be ${[params['type']].flat().map((name) => nouns[String(name)] ?? name).join(' or ')}` }]
    case 'required':
      return (params['requiredProperties'] as string[]).map((key) => ({ path: at(key), problem: 'is required' }))
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return ((params['additionalProperties'] ?? params['unevaluatedProperties']) as string[]).map((key) => ({ path: at(key), problem: 'is not a known key' }))
    case 'enum':
      return [{ path, problem: `must be one of ${(params['allowedValues'] as unknown[]).map((value) => JSON.stringify(value)).join(', ')}` }]
    case 'const':
      return [{ path, problem: `must be ${JSON.stringify(params['allowedValue'])}` }]
    case 'minLength':
      return [{ path, problem: params['limit'] === 1 ? 'must not be empty' : `must have at least ${String(params['limit'])} characters` }]
    case 'maxLength':
      return [{ path, problem: `must have at most ${String(params['limit'])} characters` }]
    case 'pattern':
      return [{ path, problem: params['pattern'] === notBlank ? 'must not be blank' : `must match ${String(params['pattern'])}` }]
    default:
      return [{ path, problem: error.message }]
  }
}

/** The pattern of a string that must hold something other than white space. */
export const notBlank = String.raw`\S`

/** `/channels/telegram/accounts/0` → `channels.telegram.accounts[0]`. */
function dotted(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path ? `${path}.${part}` : part), '')
}

/** The first problem as the end of a sentence: `channel must be one of "last", "console"`. */
export function firstProblem(problems: readonly Problem[], root = 'the body'): string {
  const first = problems.find(({ problem }) => problem !== 'is not a known key') ?? problems[0]
  return first ? `${first.path || root} ${first.problem}` : `${root} is not valid`
}
