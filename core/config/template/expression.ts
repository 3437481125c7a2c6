// Compiles the expressions of templates: paths, fallbacks and filters, applied from left to right.
import { type CompileItem, createFilter } from './filters.ts'
import { lookUp, type Path, readPath } from './path.ts'
import { isEmpty } from './values.ts'

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

/** `a.b || c || "text" | upper`. Returns what is wrong as a sentence if the text is no expression. */
export function compileExpression(text: string): Expression | string {
  const first = readOperand(text, skipSpace(text, 0))
  if (typeof first === 'string') return first
  let { value: expression, end } = first
  for (;;) {
    const at = skipSpace(text, end)
    if (at === text.length) return expression
    const next = text.startsWith('||', at) ? readFallback(text, at + 2, expression) : readFilter(text, at, expression)
    if (typeof next === 'string') return next
    ;({ value: expression, end } = next)
  }
}

/** Compiles a path such as `payload.items`, `headers.x-event` or `a.b[0]["any key"]`; undefined if it is invalid. */
export function compilePath(text: string): Expression | undefined {
  const trimmed = text.trim()
  const found = readPath(trimmed, 0)
  return found?.end === trimmed.length ? toExpression(found.path) : undefined
}

/** An expression that was read, and the position after it. */
interface Read {
  value: Expression
  end: number
}

const quotedPattern = /"([^"]*)"|'([^']*)'/y

function readOperand(text: string, at: number): Read | string {
  const quoted = matchAt(quotedPattern, text, at)
  if (quoted) {
    const literal = quoted[1] ?? quoted[2] ?? ''
    return { value: () => literal, end: at + quoted[0].length }
  }
  const found = readPath(text, at)
  return found ? { value: toExpression(found.path), end: found.end } : notAPath
}

const notAPath = 'it is not a path such as {{ payload.items[0].name }}'

function readFallback(text: string, from: number, before: Expression): Read | string {
  const operand = readOperand(text, skipSpace(text, from))
  if (typeof operand === 'string') return '"||" must be followed by a path, or by a text in quotes'
  return { value: orElse(before, operand.value), end: operand.end }
}

const orElse =
  (first: Expression, second: Expression): Expression =>
  (scope) => {
    const value = first(scope)
    return isEmpty(value) ? second(scope) : value
  }

const filterPattern = /\|\s*([\w-]+)(?:\s*:\s*(?:(\d{1,9})(?![\w.])|"([^"]*)"|'([^']*)'))?/y

function readFilter(text: string, at: number, before: Expression): Read | string {
  if (text[at] !== '|') return notAPath
  const found = matchAt(filterPattern, text, at)
  if (!found) return '"|" must be followed by the name of a filter'
  const [all, name = '', digits, double, single] = found
  const end = at + all.length
  if (text[skipSpace(text, end)] === ':') return `the argument of ${name} must be a whole number or a text in quotes`
  const filter = createFilter(name, digits === undefined ? (double ?? single) : Number(digits), compileItem)
  if (typeof filter === 'string') return filter
  const value: Expression = (scope) => {
    const input = before(scope)
    return input === undefined || input === null ? input : filter(input)
  }
  return { value, end }
}

/** An expression inside a filter sees an element of a list, and nothing else of the request. */
const compileItem: CompileItem = (text) => {
  const expression = compileExpression(text)
  if (typeof expression === 'string') return expression
  return (item, index) => expression({ payload: undefined, headers: {}, query: {}, path: '', now: '', item, index })
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && /\s/.test(text[at] as string)) at++
  return at
}

// ── Names of the scope ──────────────────────────────────────────────────────────────────────────

/** Names of the scope take precedence over fields of the payload; `{{ payload.path }}` reaches the field. */
function toExpression(path: Path): Expression {
  const [first, ...rest] = path
  if (first === 'headers') return ({ headers }) => lookUp(headers, lowerCaseFirst(rest))
  if (first === 'payload' || first === 'query' || first === 'path' || first === 'now')
    return (scope) => lookUp(scope[first], rest)
  if (first === 'item' || first === 'index')
    return (scope) => (scope.index === undefined ? lookUp(scope.payload, path) : lookUp(scope[first], rest))
  return ({ payload }) => lookUp(payload, path)
}

const lowerCaseFirst = ([name, ...rest]: Path): Path =>
  name === undefined ? [] : [String(name).toLowerCase(), ...rest]
