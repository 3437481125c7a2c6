// Builds and compiles schemas, and describes in one sentence what does not fit. Only this file imports TypeBox.
import { type TSchema } from 'typebox'
import { Check as interpret, Compile, Errors } from 'typebox/schema'
import { Settings } from 'typebox/system'

export { type Static, type TSchema, Type } from 'typebox'

/** Any JSON Schema object: of typebox 1.x, of @sinclair/typebox, or written by hand. */
export type JsonSchema = TSchema | Readonly<Record<string, unknown>>

export interface Problem {
  /** Dotted path to the value, e.g. `args.city` or `items[2].id`; empty for the value itself. */
  path: string
  /** The same path as a list of keys. */
  keys: readonly string[]
  /** What would be right, without the value: `must be a string`. */
  problem: string
}

export interface Check {
  /** Returns whether the value fits; faster than `problems`. */
  fits(value: unknown): boolean
  /** Lists everything that does not fit. */
  problems(value: unknown): Problem[]
}

interface SchemaError {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message: string
}

/** Compiles a schema. Throws if it is not a valid schema. */
export function compileCheck(schema: JsonSchema): Check {
  const validator = Compile(schema as TSchema)
  return {
    fits: (value) => validator.Check(value),
    problems: (value) => (validator.Check(value) ? [] : explainAll(validator.Errors(value))),
  }
}

/** Checks without generating code from the schema: for schemas from untrusted sources. Each check is slower. */
export function compileInterpreted(schema: JsonSchema): Check {
  return {
    fits: (value) => interpret(schema as TSchema, value),
    problems: (value) => explainAll(Errors(schema as TSchema, value)),
  }
}

/** Checks a value without compiling the schema, for schemas that are rarely used. */
export function listProblems(schema: JsonSchema, value: unknown): Problem[] {
  // TypeBox stops at the eighth error by default, which is too few for a configuration file.
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: 1000 })
  try {
    return explainAll(Errors(schema as TSchema, value))
  } finally {
    Settings.Set({ maxErrors })
  }
}

function explainAll([, errors]: [fits: boolean, errors: unknown[]]): Problem[] {
  const problems = (errors as SchemaError[]).flatMap(explain)
  return problems.filter((one) => !problems.some((other) => follows(one, other)))
}

/**
 * Whether one problem is a consequence of another: TypeBox reports an unknown key also as a value that is not allowed,
 * and a key whose value does not fit also as unknown.
 */
function follows(one: Problem, other: Problem): boolean {
  if (one === other || other.problem === notAllowed) return false
  if (one.problem === notAllowed) return one.path === other.path
  return one.problem === unknownKey && one.keys.every((key, index) => key === other.keys[index])
}

/** The problem of a key that the schema does not declare. */
export const unknownKey = 'is not a known key'
const notAllowed = 'is not allowed'

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
  const here = keysOf(error.instancePath)
  const at = (keys: readonly string[], problem: string) => ({ path: dotted(keys), keys, problem })
  const { params } = error
  switch (error.keyword) {
    case 'type':
      return [
        at(
          here,
          `must be ${[params['type']]
            .flat()
            .map((name) => nouns[String(name)] ?? name)
            .join(' or ')}`,
        ),
      ]
    case 'required':
      return (params['requiredProperties'] as string[]).map((key) => at([...here, key], 'is required'))
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return ((params['additionalProperties'] ?? params['unevaluatedProperties']) as string[]).map((key) =>
        at([...here, key], unknownKey),
      )
    case 'boolean':
      return [at(here, notAllowed)]
    case 'enum':
      return [
        at(
          here,
          `must be one of ${(params['allowedValues'] as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`,
        ),
      ]
    case 'const':
      return [at(here, `must be ${JSON.stringify(params['allowedValue'])}`)]
    case 'minLength':
      return [
        at(
          here,
          params['limit'] === 1 ? 'must not be empty' : `must have at least ${String(params['limit'])} characters`,
        ),
      ]
    case 'minItems':
    case 'minProperties':
      return [at(here, params['limit'] === 1 ? 'must not be empty' : error.message)]
    case 'maxLength':
      return [at(here, `must have at most ${String(params['limit'])} characters`)]
    case 'pattern':
      return [
        at(here, params['pattern'] === notBlank ? 'must not be blank' : `must match ${String(params['pattern'])}`),
      ]
    default:
      return [at(here, error.message)]
  }
}

/** The pattern of a string that must not be blank. */
export const notBlank = String.raw`\S`

/** The keys of a JSON pointer such as `/channels/console/accounts/0`. */
const keysOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** `['agents', 'defaults', 'models', '0']` → `agents.defaults.models[0]`. */
export const dotted = (keys: readonly string[]): string =>
  keys.reduce((path, key) => (/^\d+$/.test(key) ? `${path}[${key}]` : path ? `${path}.${key}` : key), '')

/** Describes the problems as the end of a sentence: one for each value, at most 20. */
export function allProblems(problems: readonly Problem[], root = 'the body'): string {
  const firstOfEach = problems.filter((one, index) => problems.findIndex(({ path }) => path === one.path) === index)
  const named = firstOfEach.slice(0, mostNamed).map((problem) => firstProblem([problem], root))
  const more = firstOfEach.length - named.length
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ') || firstProblem([], root)
}

const mostNamed = 20

/** Describes the first problem as the end of a sentence: `channel must be one of "last", "console"`. */
export function firstProblem(problems: readonly Problem[], root = 'the body'): string {
  const first = problems.find(({ problem }) => problem !== unknownKey) ?? problems[0]
  return first ? `${first.path || root} ${first.problem}` : `${root} is not valid`
}
