// The path of the webhook endpoints and the names below it in their one spelling, and the paths that it must leave
// alone.

/** Where the gateway serves other things; everything below belongs to them too. */
export const reservedPaths = [
  '/tools',
  '/mcp',
  '/api',
  '/ws',
  '/runs',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/metrics',
  '/docs',
] as const

/** One slash in front, none behind: `hooks/` → `/hooks`. A path of nothing but slashes is `/`. */
export const normalizeHooksPath = (path: string): string => `/${path.trim().replace(/^\/+|\/+$/g, '')}`

/** The name that a configured path means: `/github/push/` and `github/push` are one name. */
export const normalizeHookName = (name: string): string =>
  /^[\s/]|[\s/]$/.test(name) ? name.trim().replace(/^\/+|\/+$/g, '') : name

/**
 * Whether a text can be the name of a hook. A request must spell the name exactly: were empty segments, dot segments or
 * white space accepted, one request would have several names, and its idempotency key would count once for each of
 * them.
 */
export const isHookName = (name: string): boolean =>
  /^[^\s/]+(?:\/[^\s/]+)*$/.test(name) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(name)
