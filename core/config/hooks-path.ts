// The path of the webhook endpoints and the names below it in their one spelling, and the paths that it must leave alone.

/** Where the gateway serves other things; everything below belongs to them too. */
export const reservedPaths = ['/tools', '/mcp', '/api', '/ws', '/runs', '/healthz', '/readyz', '/openapi.json', '/metrics'] as const

/** One slash in front, none behind: `hooks/` → `/hooks`. A path of nothing but slashes is `/`. */
export const normalizeHooksPath = (path: string): string => `/${path.trim().replace(/^\/+|\/+$/g, '')}`

/** `/github/push/` and `github/push` are one name. */
export const normalizeHookName = (name: string): string => (/^[\s/]|[\s/]$/.test(name) ? name.trim().replace(/^\/+|\/+$/g, '') : name)
