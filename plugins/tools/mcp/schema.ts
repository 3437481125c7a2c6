// Converts the schema of an MCP server into one that is safe to check with: a tree of bounded size, without references
// and patterns.
import { cleanText } from './text.ts'
import { maxArgDescription, maxSchemaDepth, maxSchemaLength, maxSchemaWork } from './limits.ts'
import { isLongerThan } from './size.ts'

type Node = Readonly<Record<string, unknown>>

/**
 * The result accepts at least everything that the original accepts: the server checks its arguments itself. Local
 * references are resolved, which models read more easily, too; a circular one accepts anything. Throws the end of a
 * sentence if the schema is too large or not valid.
 */
export function plainSchema(schema: unknown): Node {
  if (!isNode(schema) || schema['type'] !== 'object') throw new Error('its inputSchema is not the schema of an object')
  const plain = walk(schema, { root: schema, depth: 0, references: [], budget: { left: maxSchemaWork } })
  if (isLongerThan(maxSchemaLength, plain)) throw tooLarge()
  return plain
}

interface Walk {
  root: Node
  depth: number
  /** The references that were followed to get here. */
  references: readonly string[]
  budget: { left: number }
}

const tooLarge = () => new Error('its inputSchema is too large')

/** References can make a small schema large, so the limit applies to the resolved schema. */
function spend({ budget }: Walk, amount: number): void {
  budget.left -= amount
  if (budget.left < 0) throw tooLarge()
}

function walk(schema: unknown, walked: Walk): Node {
  if (schema === true) return {}
  if (schema === false) return { enum: [] }
  if (!isNode(schema)) throw new Error('a part of its inputSchema is not a schema')
  if (walked.depth > maxSchemaDepth) throw tooLarge()
  spend(walked, 1 + Object.keys(schema).length)
  const { $ref } = schema
  if ($ref !== undefined) return follow($ref, schema, walked)
  const inside = { ...walked, depth: walked.depth + 1 }
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => keep(keyword, value, { schema, inside })),
  )
}

function follow(reference: unknown, { $ref: _ref, ...beside }: Node, walked: Walk): Node {
  if (typeof reference !== 'string' || !reference.startsWith('#'))
    throw new Error('its inputSchema refers to something outside of itself')
  if (walked.references.includes(reference)) return {}
  const inside = { ...walked, depth: walked.depth + 1, references: [...walked.references, reference] }
  return { ...walk(target(reference, walked.root), inside), ...walk(beside, inside) }
}

function target(reference: string, root: Node): unknown {
  const keys = decodeURIComponent(reference).split('/').slice(1)
  const found = keys
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Node)[key] : undefined),
      root,
    )
  if (found === undefined || (keys.length === 0 && reference !== '#'))
    throw new Error('its inputSchema refers to a part that is not there')
  return found
}

interface Keyword {
  /** The schema that has it. */
  schema: Node
  inside: Walk
}

/** Keywords that are not here are dropped: they only ever narrow, or serve references. */
function keep(keyword: string, value: unknown, { schema, inside }: Keyword): [string, unknown][] {
  switch (keyword) {
    case 'type':
      return [[keyword, typesOf(value)]]
    case 'title':
    case 'description':
      if (typeof value !== 'string') return []
      spend(inside, value.length / 20)
      return [[keyword, cleanText(value, maxArgDescription)]]
    case 'properties':
      return [[keyword, mapValues(value, (child) => walk(child, inside))]]
    case 'additionalProperties':
      // Keys that a pattern would have allowed must not be refused now.
      return schema['patternProperties'] === undefined ? [[keyword, value === false ? false : walk(value, inside)]] : []
    case 'items':
      return Array.isArray(value) ? [] : [[keyword, walk(value, inside)]]
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      // Loosened alternatives may overlap: "one of them" becomes "any of them".
      return [[keyword === 'allOf' ? keyword : 'anyOf', listOf(value, inside).map((child) => walk(child, inside))]]
    case 'required':
      return [[keyword, listOf(value, inside).filter((name) => typeof name === 'string')]]
    case 'enum':
      return [[keyword, listOf(value, inside)]]
    case 'const':
    case 'default':
      return [[keyword, value]]
    default:
      return bounds.has(keyword) && typeof value === 'number' ? [[keyword, value]] : []
  }
}

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
const bounds: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
])

function typesOf(value: unknown): unknown {
  if ([value].flat().every((name) => types.has(name))) return value
  throw new Error('its inputSchema has a type that JSON Schema does not know')
}

function listOf(value: unknown, walked: Walk): unknown[] {
  if (!Array.isArray(value)) throw new Error('its inputSchema has something else where a list must stand')
  spend(walked, value.length)
  return value
}

function mapValues(value: unknown, change: (child: unknown) => Node): Node {
  if (!isNode(value)) throw new Error('its inputSchema has something else where properties must stand')
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, change(child)]))
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
