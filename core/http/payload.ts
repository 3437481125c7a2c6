// Bytes → text → value: strict UTF-8, JSON of bounded depth, or a form where one is taken. Never echoes what it was
// given.
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../errors.ts'
import { wellFormedJson } from '../well-formed.ts'

/**
 * What a route group takes: an object; or whatever a stranger's webhook sends, a top-level array and a form included.
 */
export type Accept = 'object' | 'object-or-array-or-form'

const maxDepth = 64

/** As it came: a byte order mark stays. */
export function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json')
  return bytes.toString('utf8')
}

export function parsePayload(marked: string, accept: Accept, contentType: string | undefined): object {
  const text = marked.startsWith(byteOrderMark) ? marked.slice(1) : marked
  if (text === '') return {}
  if (accept !== 'object' && isForm(contentType) && !looksLikeJson(text)) return parseForm(text)
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || (accept === 'object' && Array.isArray(value))) {
    throw new GatewayError(
      'invalid_request',
      `The body must be a JSON object${accept === 'object' ? '' : ' or array'}.`,
    )
  }
  clean(value, 1)
  return wellFormedJson(text, value)
}

const byteOrderMark = '\ufeff'

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GatewayError('invalid_json')
  }
}

/**
 * Refuses what nests too deep and numbers that JSON can't say again (1e400 would become null),
 * and drops `__proto__` keys: copied carelessly, they would change a prototype.
 */
function clean(value: unknown, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new GatewayError('invalid_request', 'The body holds a number that is out of range.')
  if (typeof value !== 'object' || value === null) return
  if (depth > maxDepth) throw new GatewayError('invalid_request', `The body nests deeper than ${maxDepth} levels.`)
  if (Array.isArray(value)) {
    for (const item of value) clean(item, depth + 1)
    return
  }
  const record = value as Record<string, unknown>
  for (const key in record) {
    if (key === '__proto__') delete record[key]
    else clean(record[key], depth + 1)
  }
}

const isForm = (contentType: string | undefined): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')

/** `curl -d '{…}'` calls its JSON a form; a real form would have encoded the bracket. */
const looksLikeJson = (text: string): boolean => /^\s*[{[]/.test(text)

/** A name that comes several times becomes a list. */
function parseForm(text: string): object {
  const form: Record<string, string | string[]> = {}
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === '__proto__') continue
    const before = Object.hasOwn(form, name) ? form[name] : undefined
    if (Array.isArray(before)) before.push(value)
    else form[name] = before === undefined ? value : [before, value]
  }
  return form
}
