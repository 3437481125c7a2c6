// The paths of the values in a payload, for completion.
import { readJson } from '../api/read-json.ts'

const [maxPaths, maxDepth] = [200, 6]

/** Returns paths such as `issue.labels[0].name`, those near the top first. */
export function listPaths(body: string): string[] {
  const paths: string[] = []
  let level = [{ path: '', value: parse(body) }]
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
    const next: typeof level = []
    for (const { path, value } of level)
      for (const child of childrenOf(path, value)) {
        if (paths.length >= maxPaths) return paths
        if (typeof child.value === 'object' && child.value !== null) next.push(child)
        else paths.push(child.path)
      }
    level = next
  }
  return paths
}

/** Only the first element of a list: the others look alike. Names that a path cannot have are left out. */
function childrenOf(path: string, value: unknown): { path: string; value: unknown }[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [{ path: `${path}[0]`, value: value[0] as unknown }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => /^[\w$-]+$/.test(name))
    .map(([name, child]: [string, unknown]) => ({ path: path === '' ? name : `${path}.${name}`, value: child }))
}

function parse(body: string): unknown {
  try {
    return readJson(body)
  } catch {
    return undefined
  }
}
