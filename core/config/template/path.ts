// Paths into JSON values, such as `a.b[0]["any key"]`. They reach own properties only and run no code.

export type Path = readonly (string | number)[]

const step = /\.?([^\s.[\]{}()'"`|]+)|\[(\d{1,9})\]|\["([^"]*)"\]|\['([^']*)'\]/y

/** `a.b[0]` → `['a', 'b', 0]`; undefined if the text is not a path. */
export function parsePath(text: string): Path | undefined {
  const found = readPath(text, 0)
  return found?.end === text.length ? found.path : undefined
}

/** Reads the longest path that starts at `from`; undefined if there is none. */
export function readPath(text: string, from: number): { path: Path; end: number } | undefined {
  const path: (string | number)[] = []
  let end = from
  while (end < text.length) {
    step.lastIndex = end
    const found = step.exec(text)
    if (!found) break
    const [, name, index, double, single] = found
    // A name needs a dot before it, except for the first one.
    if (name !== undefined && (text[end] === '.') === (path.length === 0)) break
    path.push(index === undefined ? (name ?? double ?? single ?? '') : Number(index))
    end = step.lastIndex
  }
  return path.length === 0 ? undefined : { path, end }
}

/** Looks up own properties of objects and elements of lists only: nothing inherited, no `length`. */
export function lookUp(value: unknown, path: Path): unknown {
  let current = value
  for (const key of path) {
    if (!hasOwn(current, key)) return undefined
    current = current[key]
  }
  return current
}

function hasOwn(value: unknown, key: string | number): value is Record<string | number, unknown> {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && typeof key !== 'number' && !/^\d{1,9}$/.test(key)) return false
  return Object.hasOwn(value, key)
}
