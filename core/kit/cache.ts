// Caches of a bounded size, for what an extension has looked up.

const cacheSize = 1000

/** Makes an entry the latest one of a map, and removes the oldest if there are more than `limit`. */
export function keepLatest<Value>(map: Map<string, Value>, [key, value]: [string, Value], limit = cacheSize): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > limit && oldest !== undefined) map.delete(oldest)
}

export interface Cache<Value> {
  /** Returns what is known, or loads it. Rejects as `load` does. */
  get(key: string): Promise<Value>
  set(key: string, value: Value): void
}

/** Remembers the thousand results of `load` that were used last, but not failures. */
export function createCache<Value>(load: (key: string) => Promise<Value>): Cache<Value> {
  const known = new Map<string, Value>()
  const set = (key: string, value: Value): void => keepLatest(known, [key, value])
  return {
    async get(key) {
      const value = known.has(key) ? (known.get(key) as Value) : await load(key)
      set(key, value)
      return value
    },
    set,
  }
}
