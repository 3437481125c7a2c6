// Templates such as `Mail from {{ messages[0].from }}`: looked up, never run, compiled once for each mapping.
import { GatewayError } from '../errors.ts'

/** What a template can see of a request. */
export interface TemplateScope {
  payload: unknown
  /** By names in lower case, without credentials and signatures. */
  headers: Readonly<Record<string, unknown>>
  query: Readonly<Record<string, unknown>>
  /** The name of the hook, as it stands in the URL. */
  path: string
  /** ISO 8601, UTC. */
  now: string
  /** Inside `forEach`: the element and its place, from 0. */
  item?: unknown
  index?: number
}

export type Expression = (scope: TemplateScope) => unknown
/** Throws `invalid_request` when the text becomes too large. */
export type Template = (scope: TemplateScope) => string

const longestBytes = 1024 * 1024

/**
 * What is between braces and can't be understood renders as nothing, like all that is missing; `findTemplateProblem`
 * tells of it.
 */
export function compileTemplate(text: string): Template {
  const pieces = piecesOf(text).map(({ literal, inner }) => literal ?? compileExpression(inner) ?? nothing)
  return (scope) => {
    let rendered = ''
    for (const piece of pieces) {
      rendered += typeof piece === 'string' ? piece : textOf(piece(scope))
      if (rendered.length > longestBytes) throw tooLong()
    }
    if (rendered.length > longestBytes / mostBytes && Buffer.byteLength(rendered) > longestBytes) throw tooLong()
    return rendered
  }
}

/** Of one UTF-16 code unit, in UTF-8. */
const mostBytes = 3

const tooLong = () =>
  new GatewayError('invalid_request', 'The text that a template makes of this payload is larger than 1 MiB; send less.')

/**
 * Compiles what may stand between braces: `payload.items`, `headers.x-event`, `a.b[0]["any key"]`. @returns undefined
 * when it is not such a path
 */
export function compileExpression(text: string): Expression | undefined {
  const keys = parsePath(text.trim())
  const [first, ...rest] = keys ?? []
  if (keys === undefined || first === undefined) return undefined
  if (first === 'headers') return ({ headers }) => reach(headers, lowerFirst(rest))
  return (scope) => (isRoot(first, scope) ? reach(scope[first], rest) : reach(scope.payload, keys))
}

/**
 * The first thing between braces that is not a path, or braces that are never closed, as the end of a sentence about
 * the template.
 */
export function findTemplateProblem(text: string): string | undefined {
  const pieces = piecesOf(text)
  const odd = pieces.find(({ literal, inner }) => literal === undefined && !compileExpression(inner))
  if (odd)
    return `holds {{${odd.inner}}}, which is not a path such as {{ payload.items[0].name }} and always renders as nothing`
  return pieces.at(-1)?.literal?.includes('{{')
    ? 'holds "{{" without a closing "}}", so that part is sent as plain text; close it'
    : undefined
}

/** Whether anything in it is looked up. */
export const isTemplate = (text: string): boolean => text.includes('{{')

type Key = string | number
type Piece = { literal: string; inner: '' } | { literal?: never; inner: string }

const nothing: Expression = () => undefined

/** Braces that are never closed are text. One pass from left to right, so that the work grows with the length alone. */
function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (;;) {
    const open = text.indexOf('{{', from)
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2)
    if (close < 0) return [...pieces, { literal: text.slice(from), inner: '' }]
    pieces.push({ literal: text.slice(from, open), inner: '' }, { inner: text.slice(open + 2, close) })
    from = close + 2
  }
}

const step = /\.?([^\s.[\]{}()'"`]+)|\[(\d{1,9})\]|\["([^"]*)"\]|\['([^']*)'\]/y

/** `a.b[0]` → `['a', 'b', 0]`; undefined when it is anything but names and indexes. */
function parsePath(text: string): Key[] | undefined {
  if (text === '' || text.startsWith('.')) return undefined
  const keys: Key[] = []
  step.lastIndex = 0
  while (step.lastIndex < text.length) {
    const at = step.lastIndex
    const found = step.exec(text)
    // Two names need a dot between them; the first has none.
    if (!found || (found[1] !== undefined && at > 0 && text[at] !== '.')) return undefined
    keys.push(found[2] === undefined ? (found[1] ?? found[3] ?? found[4] ?? '') : Number(found[2]))
  }
  return keys
}

/** Names of the scope go before fields of the payload: `{{ payload.path }}` is the payload's own. */
function isRoot(key: Key, scope: TemplateScope): key is keyof TemplateScope {
  if (key === 'item' || key === 'index') return scope.index !== undefined
  return key === 'payload' || key === 'query' || key === 'path' || key === 'now'
}

const lowerFirst = ([name, ...rest]: Key[]): Key[] => (name === undefined ? [] : [String(name).toLowerCase(), ...rest])

/** Own properties of objects and elements of lists alone: nothing that a value inherits, no `length`. */
function reach(value: unknown, keys: readonly Key[]): unknown {
  let reached = value
  for (const key of keys) {
    if (typeof reached !== 'object' || reached === null) return undefined
    if (Array.isArray(reached)) {
      if (typeof key !== 'number' && !/^\d{1,9}$/.test(key)) return undefined
    } else if (!Object.hasOwn(reached, key)) return undefined
    reached = (reached as Record<Key, unknown>)[key]
  }
  return reached
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return JSON.stringify(value) ?? ''
}
