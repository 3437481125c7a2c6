// Compiles and renders templates such as `Mail from {{ messages[0].from }}`. They look values up and run no code.
import { GatewayError } from '../errors.ts'

/** The values that a template can use. */
export interface TemplateScope {
  payload: unknown
  /** Names in lower case; without credentials and signatures. */
  headers: Readonly<Record<string, unknown>>
  query: Readonly<Record<string, unknown>>
  /** The name of the hook, as in the URL. */
  path: string
  /** ISO 8601, UTC. */
  now: string
  /** Inside `forEach`: the element and its index, from 0. */
  item?: unknown
  index?: number
}

export type Expression = (scope: TemplateScope) => unknown
/** Throws `invalid_request` if the text becomes too large. */
export type Template = (scope: TemplateScope) => string

const maxBytes = 1024 * 1024

/** An invalid expression renders as empty text, like a missing value. `findTemplateProblem` reports it. */
export function compileTemplate(text: string): Template {
  const segments = parseSegments(text).map(({ literal, inner }) => literal ?? compileExpression(inner) ?? renderNothing)
  return (scope) => {
    let rendered = ''
    for (const segment of segments) {
      rendered += typeof segment === 'string' ? segment : toText(segment(scope))
      if (rendered.length > maxBytes) throw createTooLargeError()
    }
    if (rendered.length > maxBytes / bytesPerCodeUnit && Buffer.byteLength(rendered) > maxBytes)
      throw createTooLargeError()
    return rendered
  }
}

/** The maximum in UTF-8. */
const bytesPerCodeUnit = 3

const createTooLargeError = () =>
  new GatewayError('invalid_request', 'A template renders this payload to more than 1 MiB; send less.')

/**
 * Compiles an expression such as `payload.items`, `headers.x-event` or `a.b[0]["any key"]`.
 * @returns undefined if it is invalid.
 */
export function compileExpression(text: string): Expression | undefined {
  const keys = parsePath(text.trim())
  const [first, ...rest] = keys ?? []
  if (keys === undefined || first === undefined) return undefined
  if (first === 'headers') return ({ headers }) => lookUp(headers, lowerCaseFirst(rest))
  return (scope) => (isScopeName(first, scope) ? lookUp(scope[first], rest) : lookUp(scope.payload, keys))
}

/** Describes the first invalid expression, or a brace that is never closed, as the end of a sentence. */
export function findTemplateProblem(text: string): string | undefined {
  const segments = parseSegments(text)
  const invalid = segments.find(({ literal, inner }) => literal === undefined && !compileExpression(inner))
  if (invalid)
    return (
      `contains {{${invalid.inner}}}, which is not a path such as {{ payload.items[0].name }} and always ` +
      `renders as nothing`
    )
  return segments.at(-1)?.literal?.includes('{{')
    ? 'contains "{{" without a closing "}}", so it is sent as plain text; add "}}"'
    : undefined
}

/** Whether the text contains an expression. */
export const isTemplate = (text: string): boolean => text.includes('{{')

type Key = string | number
type Segment = { literal: string; inner: '' } | { literal?: never; inner: string }

const renderNothing: Expression = () => undefined

/** Braces that are never closed are text. A single pass, so that the time is linear in the length. */
function parseSegments(text: string): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (;;) {
    const open = text.indexOf('{{', from)
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2)
    if (close < 0) return [...segments, { literal: text.slice(from), inner: '' }]
    segments.push({ literal: text.slice(from, open), inner: '' }, { inner: text.slice(open + 2, close) })
    from = close + 2
  }
}

const step = /\.?([^\s.[\]{}()'"`]+)|\[(\d{1,9})\]|\["([^"]*)"\]|\['([^']*)'\]/y

/** `a.b[0]` → `['a', 'b', 0]`; undefined if the text is not a path. */
function parsePath(text: string): Key[] | undefined {
  if (text === '' || text.startsWith('.')) return undefined
  const keys: Key[] = []
  step.lastIndex = 0
  while (step.lastIndex < text.length) {
    const at = step.lastIndex
    const found = step.exec(text)
    // A name needs a dot before it, except for the first one.
    if (!found || (found[1] !== undefined && at > 0 && text[at] !== '.')) return undefined
    keys.push(found[2] === undefined ? (found[1] ?? found[3] ?? found[4] ?? '') : Number(found[2]))
  }
  return keys
}

/** Names of the scope take precedence over fields of the payload; `{{ payload.path }}` reaches the field. */
function isScopeName(key: Key, scope: TemplateScope): key is keyof TemplateScope {
  if (key === 'item' || key === 'index') return scope.index !== undefined
  return key === 'payload' || key === 'query' || key === 'path' || key === 'now'
}

const lowerCaseFirst = ([name, ...rest]: Key[]): Key[] =>
  name === undefined ? [] : [String(name).toLowerCase(), ...rest]

/** Looks up own properties of objects and elements of lists only: nothing inherited, no `length`. */
function lookUp(value: unknown, keys: readonly Key[]): unknown {
  let current = value
  for (const key of keys) {
    if (typeof current !== 'object' || current === null) return undefined
    if (Array.isArray(current)) {
      if (typeof key !== 'number' && !/^\d{1,9}$/.test(key)) return undefined
    } else if (!Object.hasOwn(current, key)) return undefined
    current = (current as Record<Key, unknown>)[key]
  }
  return current
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return JSON.stringify(value) ?? ''
}
