// Merges two configurations: sections are merged key by key, and any other value replaces the one before.

export function merge(base: object, over: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key]
    merged[key] = isSection(before) && isSection(value) ? merge(before, value) : value
  }
  return merged
}

const isSection = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
