// Reads values of unknown shape: whatever comes from outside is checked before it is used.
import { readJson } from '../json.ts'

/** The fields of an object; none if the value is something else. Each of them may be anything. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The fields of the object that a JSON text holds; none if it holds something else or is not JSON. */
export function fieldsOfJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(readJson(text))
  } catch {
    return {}
  }
}

/** The items of a list; none if the value is something else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A whole number that is not negative. */
export const countOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
