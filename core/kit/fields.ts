// Lists the fields of a payload about which there is no sentence, and reads numbers that JSON may have rounded.
import { line } from './text.ts'

export interface FieldFormat {
  /** How a field is named. By default its path with dots. */
  labelOf?: (path: readonly string[]) => string
  /** Shows a value, or nothing if the text is empty. `undefined` lists the fields of the value. */
  textOf?: (value: unknown, path: readonly string[]) => string | undefined
}

const mostFields = 30
const deepest = 3

/**
 * Lists each value with its path, one line each: `customer.email: ada@example.com`. At most 30 lines; objects below the
 * third level are not opened.
 */
export function listFields(
  value: unknown,
  { labelOf = (path) => path.join('.'), textOf = valueText }: FieldFormat = {},
): string[] {
  const fieldsOf = (inner: unknown, path: readonly string[]): string[] => {
    const text = textOf(inner, path) ?? (path.length === deepest ? '…' : undefined)
    if (text !== undefined) return text === '' ? [] : [`${line(labelOf(path), 100)}: ${text}`]
    return Object.entries(inner as object).flatMap(([key, field]) => fieldsOf(field, [...path, key]))
  }
  const fields = fieldsOf(value, [])
  const more = fields.length - mostFields
  return more > 0 ? [...fields.slice(0, mostFields), `… and ${more} more`] : fields
}

/** A text, number or truth value as one line; `undefined` for an object that has fields. */
export function valueText(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) return undefined
  return typeof value === 'string' ? line(value) : (exactText(value) ?? '')
}

/**
 * A number or truth value as text. `undefined` for an integer above 2^53: JSON has rounded it, so it may be the id of
 * something else.
 */
export function exactText(value: unknown): string | undefined {
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

/** An id that is a text or a number, if it is known exactly, as one line of at most 200 characters. */
export const exactId = (id: unknown): string | undefined =>
  line(typeof id === 'string' ? id : typeof id === 'number' ? exactText(id) : undefined, 200) || undefined
