// What a value is in a template: its text, and whether it is empty.

export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return JSON.stringify(value) ?? ''
}

/** Missing, null, blank text, or a list or object without elements. Zero and false are not empty. */
export function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return !/\S/.test(value)
  if (value === undefined || value === null) return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.keys(value).length === 0
}
