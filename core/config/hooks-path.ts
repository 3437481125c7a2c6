// Normalizes `hooks.path` and the names of hooks, and lists the paths that hooks must not use.
import type { Config } from './schema/schema.ts'

/** Paths of other routes. Everything below them is reserved too. */
export const reservedPaths = [
  '/tools',
  '/channels',
  '/mcp',
  '/api',
  '/ws',
  '/runs',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/metrics',
  '/docs',
  '/page',
] as const

/** Adds a leading slash and removes trailing ones: `hooks/` → `/hooks`. Only slashes become `/`. */
export const normalizeHooksPath = (path: string): string => `/${trimSlashes(path.trim())}`

/** Removes surrounding slashes: `/github/push/` and `github/push` are the same name. */
export const normalizeHookName = (name: string): string => trimSlashes(name.trim())

/** The URL at which senders reach a hook; undefined unless `gateway.publicUrl` is set. */
export const hookUrlOf = ({ gateway, hooks }: Pick<Config, 'gateway' | 'hooks'>, name: string): string | undefined =>
  gateway.publicUrl && `${trimSlashes(gateway.publicUrl)}${normalizeHooksPath(hooks.path)}/${normalizeHookName(name)}`

/** Not a regular expression, which would take quadratic time for many slashes inside the text. */
export function trimSlashes(text: string): string {
  let [start, end] = [0, text.length]
  while (text[start] === '/') start++
  while (end > start && text[end - 1] === '/') end--
  return text.slice(start, end)
}

/**
 * Whether a text can be the name of a hook. Empty segments, dot segments and white space are not allowed: otherwise a
 * hook would have several names, and an idempotency key would count once for each of them.
 */
export const isHookName = (name: string): boolean =>
  /^[^\s/]+(?:\/[^\s/]+)*$/.test(name) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(name)
