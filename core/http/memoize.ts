// Remembers the results of a function of one string, for strings that most requests repeat.

/** The cache is cleared beyond this size, because callers choose the strings. */
const maxEntries = 1000
/** Results for longer strings are not cached. */
const maxLength = 100

export function memoize<Value extends object | boolean>(compute: (text: string) => Value): (text: string) => Value {
  let cache = new Map<string, Value>()
  return (text) => {
    const cached = cache.get(text)
    if (cached !== undefined) return cached
    const value = compute(text)
    if (cache.size >= maxEntries) cache = new Map()
    if (text.length <= maxLength) cache.set(text, value)
    return value
  }
}
