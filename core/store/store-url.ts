// Reads a storage URL: which engine it names, and where the store is.
import { resolve } from 'node:path'
import { GatewayError } from '../errors.ts'

export type StoreAddress = { engine: 'sqlite'; path: string } | { engine: 'postgres'; url: string }

interface UrlContext {
  /** The configuration directory. Relative paths in the URL are resolved against it. */
  dir: string
  /** What holds the URL, for errors. */
  name?: string
}

/** Throws when the URL cannot be used. */
export function parseStoreUrl(url: string, { dir, name = 'storage.url' }: UrlContext): StoreAddress {
  if (isPostgresUrl(url)) return { engine: 'postgres', url }
  const { scheme, rest } = splitUrl(url)
  if (scheme === 'sqlite' && rest !== '') return { engine: 'sqlite', path: resolve(dir, rest) }
  const unknown = scheme && scheme !== 'sqlite' ? `; "${scheme}:" is not a supported store` : ''
  const sentence =
    `${name} must be "sqlite:" and a path, such as "sqlite:state/gateway.db", or the URL of a PostgreSQL ` +
    `database, such as "postgres://user@host/database"${unknown}.`
  throw new GatewayError('store_unavailable', sentence)
}

/** The file of an SQLite store; undefined for any other store. Throws when the URL cannot be used. */
export function storeFileOf(url: string, dir: string): string | undefined {
  const address = parseStoreUrl(url, { dir })
  return address.engine === 'sqlite' ? address.path : undefined
}

/** PostgreSQL's own tools accept both. */
const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:\/\//.test(url)

/** Error messages repeat only the scheme: the rest of a URL may contain a password. */
function splitUrl(url: string): { scheme: string; rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(url) ?? []
  return { scheme, rest }
}
