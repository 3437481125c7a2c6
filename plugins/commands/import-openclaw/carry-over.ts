// Moves settings from one document to another by a table of paths, and remembers which ones were left behind.

/** An object that is no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where a setting comes from and goes to. `<…>` stands for any key or index, the same in both paths. */
export type Rule = readonly [from: string, to: string, convert?: (value: unknown) => unknown]

export interface CarryOver {
  result: Record<string, unknown>
  /** The paths of the settings that no rule has moved. */
  left(): string[]
}

/** Moves each setting with the first rule that fits. A rule whose conversion returns `undefined` leaves it behind. */
export function carryOver(
  source: Record<string, unknown>,
  rules: readonly Rule[],
  isLeftBehind: (path: readonly string[]) => boolean,
): CarryOver {
  const result: Record<string, unknown> = {}
  const moved = new Set<string>()
  for (const [from, to, convert = (value: unknown) => value] of rules) {
    for (const { path, value, names } of matches(source, from.split('.'))) {
      const converted = moved.has(path.join('\0')) || isLeftBehind(path) ? undefined : convert(value)
      if (converted === undefined) continue
      put(result, fill(to.split('.'), names), converted)
      moved.add(path.join('\0'))
    }
  }
  const isMoved = (path: readonly string[]) =>
    path.some((_key, depth) => moved.has(path.slice(0, depth + 1).join('\0')))
  return {
    result,
    left: () =>
      leavesOf(source)
        .filter((path) => !isMoved(path))
        .map((path) => path.join('.')),
  }
}

interface Match {
  path: string[]
  value: unknown
  /** What the placeholders stand for, in their order. */
  names: string[]
}

function matches(value: unknown, [key, ...rest]: readonly string[]): Match[] {
  if (key === undefined) return value === undefined ? [] : [{ path: [], value, names: [] }]
  if (!isBranch(value)) return []
  const isPlaceholder = key.startsWith('<')
  const keys = isPlaceholder ? Object.keys(value) : Object.hasOwn(value, key) ? [key] : []
  return keys.flatMap((name) =>
    matches((value as Record<string, unknown>)[name], rest).map(({ path, names, value: found }) => ({
      path: [name, ...path],
      value: found,
      names: isPlaceholder ? [name, ...names] : names,
    })),
  )
}

function fill(path: readonly string[], names: readonly string[]): string[] {
  let used = 0
  return path.map((key) => (key.startsWith('<') ? (names[used++] ?? '') : key))
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path
  // Names come from a file, so that one may be `__proto__`.
  const attributes = { enumerable: true, writable: true, configurable: true }
  const set = (child: unknown) => Object.defineProperty(target, key, { value: child, ...attributes })
  if (rest.length === 0) return void set(value)
  if (!Object.hasOwn(target, key) || !isRecord(target[key])) set({})
  put(target[key] as Record<string, unknown>, rest, value)
}

const isBranch = (value: unknown): value is object => isRecord(value) || (Array.isArray(value) && value.some(isRecord))

function leavesOf(value: unknown, path: readonly string[] = []): string[][] {
  if (!isBranch(value) || Object.keys(value).length === 0) return [[...path]]
  return Object.entries(value).flatMap(([key, child]) => leavesOf(child, [...path, key]))
}
