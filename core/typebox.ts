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
  /** A JSON pointer into the schema, which begins with `#`. */
  schemaPath: string
  /** A JSON pointer into the value. */
  instancePath: string
  params: Record<string, unknown>
  message: string
}

/** Compiles a schema. Throws if it is not a valid schema. */
export function compileCheck(schema: JsonSchema): Check {
  const validator = Compile(schema as TSchema)
  const fits = withBigInts((value) => validator.Check(value))
  return {
    fits,
    problems: (value) => (fits(value) ? [] : explainAll(schema, validator.Errors(withNumbers(value)))),
  }
}

/** Checks without generating code from the schema: for schemas from untrusted sources. Each check is slower. */
export function compileInterpreted(schema: JsonSchema): Check {
  return {
    fits: withBigInts((value) => interpret(schema as TSchema, value)),
    problems: (value) => explainAll(schema, Errors(schema as TSchema, withNumbers(value))),
  }
}

/** TypeBox takes a BigInt for no number, so it checks the rounded number instead. Few values hold one. */
const withBigInts =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean => {
    if (fits(value)) return true
    const numbers = withNumbers(value)
    return numbers !== value && fits(numbers)
  }

/** A copy with numbers in the place of BigInts; the value itself if it holds none. A plugin's value may hold itself. */
function withNumbers(value: unknown, seen = new Set<object>()): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || seen.has(value)) return value
  seen.add(value)
  const before = Object.entries(value)
  const after = before.map(([key, field]) => [key, withNumbers(field, seen)] as const)
  if (after.every(([, field], index) => Object.is(field, before[index]?.[1]))) return value
  return Array.isArray(value) ? after.map(([, field]) => field) : Object.fromEntries(after)
}

/** Checks a value without compiling the schema, for schemas that are rarely used. */
export function listProblems(schema: JsonSchema, value: unknown): Problem[] {
  // TypeBox stops at the eighth error by default, which is too few for a configuration file.
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: 1000 })
  try {
    return explainAll(schema, Errors(schema as TSchema, withNumbers(value)))
  } finally {
    Settings.Set({ maxErrors })
  }
}

/** What in a schema is not JSON Schema. The compiler accepts it, and then checks nothing there. */
export const findSchemaProblems = (schema: unknown): Problem[] => listProblems(metaSchema, schema)

const schemas = { type: 'object', additionalProperties: { $ref: '#' } }
const schemaList = { type: 'array', minItems: 1, items: { $ref: '#' } }
const inside = { $ref: '#' }
const count = { type: 'integer', minimum: 0 }
const typeName = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] }

/** The keywords of JSON Schema 2020-12 that are checked. Others mean nothing, and are allowed. */
const metaSchema: JsonSchema = {
  type: ['object', 'boolean'],
  errorMessage: 'must be a JSON Schema',
  properties: {
    ...Object.fromEntries(
      ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'].map((key) => [key, schemas]),
    ),
    ...Object.fromEntries(['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, schemaList])),
    ...Object.fromEntries(
      ['additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'].map((key) => [key, inside]),
    ),
    ...Object.fromEntries(
      ['maxItems', 'maxLength', 'maxProperties', 'minItems', 'minLength', 'minProperties'].map((key) => [key, count]),
    ),
    ...Object.fromEntries(
      ['exclusiveMaximum', 'exclusiveMinimum', 'maximum', 'minimum'].map((key) => [key, { type: 'number' }]),
    ),
    ...Object.fromEntries(
      ['$id', '$ref', 'description', 'errorMessage', 'format', 'pattern', 'title'].map((key) => [
        key,
        { type: 'string' },
      ]),
    ),
    enum: { type: 'array', minItems: 1 },
    // A list of schemas, one for each place, is of older drafts.
    items: { anyOf: [inside, { type: 'array', items: inside }] },
    multipleOf: { type: 'number', exclusiveMinimum: 0 },
    required: { type: 'array', items: { type: 'string' } },
    type: { anyOf: [typeName, { type: 'array', minItems: 1, items: typeName }] },
    uniqueItems: { type: 'boolean' },
  },
}

function explainAll(schema: JsonSchema, [, errors]: [fits: boolean, errors: unknown[]]): Problem[] {
  const problems = withoutOtherAlternatives(schema, errors as SchemaError[]).flatMap((error) =>
    explain(error, nodeAt(schema, error.schemaPath)),
  )
  return problems.filter((one) => !problems.some((other) => follows(one, other)))
}

/**
 * Of a union, TypeBox reports the errors of each alternative, and then one of the union. If only one alternative is of
 * the same kind as the value, its errors say what is wrong; otherwise the error of the union does.
 */
function withoutOtherAlternatives(schema: JsonSchema, errors: readonly SchemaError[]): SchemaError[] {
  let kept: SchemaError[] = []
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') {
      kept.push(error)
      continue
    }
    const { schemaPath, instancePath, keyword } = error
    const prefix = `${schemaPath}/${keyword}/`
    const isInside = (one: SchemaError) =>
      one.schemaPath.startsWith(prefix) && `${one.instancePath}/`.startsWith(`${instancePath}/`)
    const groups = Map.groupBy(kept.filter(isInside), (one) => one.schemaPath.slice(prefix.length).split('/', 1)[0])
    kept = kept.filter((one) => !isInside(one))
    const own = sentenceOf(nodeAt(schema, schemaPath))
    kept.push(...((own === undefined && onlyOneOfKind([...groups.values()], instancePath)) || [error]))
  }
  return kept
}

/** The errors of the alternative that the value was probably meant to be. */
function onlyOneOfKind(groups: readonly SchemaError[][], path: string): SchemaError[] | undefined {
  const without = (from: readonly SchemaError[][], keywords: readonly string[], isThere: (at: string) => boolean) =>
    from.filter((group) => !group.some((one) => keywords.includes(one.keyword) && isThere(one.instancePath)))
  const ofType = without(groups, ['type', 'const', 'enum'], (at) => at === path)
  if (ofType.length === 1) return ofType[0]
  const ofVariant = without(ofType, ['const'], (at) => at.slice(0, at.lastIndexOf('/')) === path)
  return ofVariant.length === 1 ? ofVariant[0] : undefined
}

type Node = Readonly<Record<string, unknown>>

/** The part of a schema to which a JSON pointer points. The pointers of errors go through references. */
function nodeAt(schema: JsonSchema, pointer: string): Node {
  const walk = (path: string, step: (node: Node) => Node): Node =>
    keysOf(path).reduce((node, key) => step(asNode(node[key])), step(schema as Node))
  return walk(pointer, (node) => {
    const { $ref } = node
    return typeof $ref === 'string' && $ref.startsWith('#') ? { ...walk($ref, (one) => one), ...node } : node
  })
}

const asNode = (value: unknown): Node => (typeof value === 'object' && value !== null ? (value as Node) : {})

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

function explain(error: SchemaError, node: Node): Problem[] {
  const here = keysOf(error.instancePath)
  const at = (keys: readonly string[], problem: string) => ({ path: dotted(keys), keys, problem })
  const { params } = error
  const own = sentenceOf(node)
  if (own !== undefined && !isAboutMembers(error)) return [at(here, own)]
  switch (error.keyword) {
    case 'type':
      return [at(here, `must be ${listAlternatives({ type: params['type'] }).join(' or ')}`)]
    case 'anyOf':
    case 'oneOf': {
      const alternatives = [...new Set(listAlternatives(node))]
      return [at(here, alternatives.length > 1 ? `must be ${eitherOf(alternatives)}` : error.message)]
    }
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

/** Errors of an object that concern one of its members. */
const isAboutMembers = ({ keyword }: SchemaError): boolean =>
  ['required', 'additionalProperties', 'unevaluatedProperties', 'boolean'].includes(keyword)

/** What the author of a schema says about a value that does not fit. It may come from another server. */
function sentenceOf({ errorMessage }: Node): string | undefined {
  const [line = ''] = typeof errorMessage === 'string' ? errorMessage.trim().split('\n', 1) : []
  return line === '' ? undefined : line.slice(0, 300).toWellFormed().replace(/\.$/, '')
}

/** `a string`, `{ file }`, `"now"`: what a schema accepts, in a few words for each alternative. */
function listAlternatives(schema: unknown): string[] {
  const node = asNode(schema)
  if ('const' in node) return [JSON.stringify(node['const'])]
  if (Array.isArray(node['enum'])) return node['enum'].map((value) => JSON.stringify(value))
  const inside = [node['anyOf'], node['oneOf']].find(Array.isArray)
  if (inside) return inside.flatMap(listAlternatives)
  if (typeof node['properties'] === 'object' && node['properties'] !== null) return [describeObject(node)]
  const pattern = node['pattern']
  if (node['type'] === 'string' && typeof pattern === 'string' && pattern !== notBlank)
    return [`a string that matches ${pattern}`]
  const types = [node['type']].flat().filter((name) => typeof name === 'string')
  return types.map((name) => nouns[name] ?? name)
}

/** The keys that an object must have, or else all of them; a key with one value, with this value. */
function describeObject({ properties, required }: Node): string {
  const all = Object.entries(properties as Record<string, Node>)
  const needed = all.filter(([key]) => Array.isArray(required) && required.includes(key))
  const keys = (needed.length > 0 ? needed : all).map(([key, schema]) =>
    'const' in schema ? `${key}: ${JSON.stringify(schema['const'])}` : key,
  )
  return `{ ${keys.join(', ')} }`
}

/** `a string, a number or null` */
const eitherOf = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

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
