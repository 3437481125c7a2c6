// Parses bodies: JSON of bounded depth, or a form where the route accepts one. Errors never quote the body.
import { GatewayError } from '../errors.ts'
import { parseFormText } from './charset.ts'
import { readJson } from '../json.ts'
import { wellFormedJson } from '../well-formed.ts'

/** What a route accepts: an object, or what a webhook of any service may send (also a top-level array or a form). */
export type Accept = 'object' | 'object-or-array-or-form'

const maxDepth = 64

export function parsePayload(decoded: string, accept: Accept, contentType: string | undefined): object {
  const text = withoutMark(decoded)
  if (text === '') return {}
  if (accept !== 'object' && isForm(contentType) && !looksLikeJson(text)) return parseForm(text, contentType)
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || (accept === 'object' && Array.isArray(value))) {
    throw new GatewayError(
      'invalid_request',
      `The body must be a JSON object${accept === 'object' ? '' : ' or array'}.`,
    )
  }
  sanitize(value, 1)
  return wellFormedJson(text, value)
}

const byteOrderMark = '\ufeff'

export const withoutMark = (text: string): string => (text.startsWith(byteOrderMark) ? text.slice(1) : text)

/** Parses JSON text inside a field of a form. `name` is the name of the field. */
export function parseJsonField(text: string, name: string): unknown {
  try {
    const value = readJson(text)
    // The field itself is one level.
    sanitize(value, 2)
    return wellFormedJson(text, value)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('invalid_request', `The field ${JSON.stringify(name)} must hold JSON text.`)
  }
}

function parseJson(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new GatewayError('invalid_json')
  }
}

/**
 * Refuses deep nesting and numbers that JSON cannot represent (1e400 would become null). Removes `__proto__` keys,
 * which could change a prototype when the object is copied.
 */
function sanitize(value: unknown, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new GatewayError('invalid_request', 'The body contains a number that is out of range.')
  if (typeof value !== 'object' || value === null) return
  if (depth > maxDepth) throw new GatewayError('invalid_request', `The body nests deeper than ${maxDepth} levels.`)
  if (Array.isArray(value)) {
    for (const item of value) sanitize(item, depth + 1)
    return
  }
  const record = value as Record<string, unknown>
  for (const key in record) {
    if (key === '__proto__') delete record[key]
    else sanitize(record[key], depth + 1)
  }
}

export const isForm = (contentType: string | undefined): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')

/** `curl -d '{…}'` declares its JSON as a form. A real form would have encoded the bracket. */
export const looksLikeJson = (text: string): boolean => /^\s*[{[]/.test(text)

function parseForm(text: string, contentType: string | undefined): object {
  const form: Form<string> = {}
  for (const [name, value] of parseFormText(text, contentType)) addField(form, name, value)
  return form
}

export type Form<Value> = Record<string, Value | Value[]>

/** A name that occurs several times becomes a list. */
export function addField<Value>(form: Form<Value>, name: string, value: Value): void {
  if (name === '__proto__') return
  const before = Object.hasOwn(form, name) ? form[name] : undefined
  if (Array.isArray(before)) before.push(value)
  else form[name] = before === undefined ? value : [before, value]
}
