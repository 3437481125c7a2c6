// Makes text well-formed Unicode, so that every program can store and send it: a lone surrogate, which JSON can contain
// as `\ud800`, becomes U+FFFD.

/**
 * Returns the value itself if all of its text is well-formed, else a copy. Other values than strings, arrays and plain
 * objects are not changed.
 */
export function wellFormed<Value>(value: Value): Value {
  return convert(value) as Value
}

function convert(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return convertList(value)
  return isPlain(value) ? convertObject(value) : value
}

function convertList(before: readonly unknown[]): readonly unknown[] {
  const after = before.map(convert)
  return after.every((item, index) => item === before[index]) ? before : after
}

function convertObject(object: Record<string, unknown>): Record<string, unknown> {
  const before = Object.entries(object)
  const after = before.map(([key, value]) => [key.toWellFormed(), convert(value)] as const)
  const isSame = after.every(([key, value], index) => key === before[index]?.[0] && value === before[index][1])
  return isSame ? object : Object.fromEntries(after)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Makes a value well-formed that was parsed from JSON text. Only an escape can contain half a character, so a text
 * without escapes needs no conversion.
 */
export const wellFormedJson = <Value>(text: string, value: Value): Value =>
  text.includes('\\u') ? wellFormed(value) : value
