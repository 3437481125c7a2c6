// Estimates how long a value is as JSON, without serializing it and without reading more than the limit.

export function isLongerThan(limit: number, value: unknown): boolean {
  let left = limit
  const rest = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    left -= typeof next === 'string' ? next.length + 3 : 3
    if (left < 0) return true
    if (typeof next !== 'object' || next === null) continue
    for (const key of Object.keys(next)) {
      left -= key.length
      rest.push((next as Record<string, unknown>)[key])
      if (left < 0 || rest.length > limit) return true
    }
  }
  return false
}
