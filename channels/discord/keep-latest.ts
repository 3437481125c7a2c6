// Adds an entry to a map that must not grow without end.

/** Makes it the latest entry, and removes the oldest one if there are more than `limit`. */
export function keepLatest<Value>(map: Map<string, Value>, [key, value]: [string, Value], limit = 1000): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > limit && oldest !== undefined) map.delete(oldest)
}
