// Lists the fields of a payload about which there is no sentence, and reads numbers that JSON may have rounded.
import { textOf } from './shapes.ts'
import { clip, line } from './text.ts'

/** How `listFields` names and shows the fields of an object. */
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
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return exactNumber(value) ?? '(a number that is too large to be read exactly)'
  return typeof value === 'string' ? line(value) : typeof value === 'boolean' ? String(value) : ''
}

/** A number as text; `undefined` for an integer above 2^53, which may be rounded. In a payload it is a BigInt. */
export const exactNumber = (value: number): string | undefined =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)

/** An id that is a text or a number, if it is known exactly, as one line of at most 200 characters. */
export const exactId = (id: unknown): string | undefined =>
  line(typeof id === 'number' ? exactNumber(id) : typeof id === 'bigint' ? String(id) : textOf(id), 200) || undefined

/**
 * Fields that somebody filled in, for the details and the text of a message: short answers are one line each, longer
 * ones and those of several lines come below as text.
 */
export function listAnswers(answers: readonly (readonly [name: string, answer: string])[]) {
  const isLong = (answer: string) => answer.length > 300 || /[\n\r\u0085\u2028\u2029]/.test(answer.trim())
  const shown = answers.slice(0, mostFields)
  const more = answers.length - shown.length
  return {
    details: [
      ...shown.filter(([, answer]) => !isLong(answer)).map(([name, answer]) => `${line(name, 100)}: ${line(answer)}`),
      ...(more > 0 ? [`… and ${more} more`] : []),
    ],
    text: shown
      .filter(([, answer]) => isLong(answer))
      .map(([name, answer]) => `${line(name, 100)}:\n${clip(answer)}`)
      .join('\n\n'),
  }
}
