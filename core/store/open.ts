// Opens the store that `storage.url` names.
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { createPostgresStore } from './postgres/postgres.ts'
import { createSqliteStore } from './sqlite/sqlite.ts'
import type { OpeningStore } from './store.ts'

export interface StoreOptions {
  url: string
  /** The configuration directory. Relative paths in the URL are resolved against it. */
  dir: string
  log: Log
  /** Called after each commit with the number of operations in it. */
  onCommit?: (operations: number) => void
}

/** Throws when the URL cannot be used. */
export function openStore({ url, dir, log, onCommit }: StoreOptions): OpeningStore {
  const { scheme, rest } = splitUrl(url)
  if (isPostgresUrl(url)) return createPostgresStore({ url, log, ...(onCommit && { onCommit }) })
  if (scheme !== 'sqlite' || rest === '') {
    const unknown = scheme && scheme !== 'sqlite' ? `; "${scheme}:" is not a supported store` : ''
    const sentence =
      'storage.url must be "sqlite:" and a path, such as "sqlite:state/gateway.db", or the URL of a PostgreSQL ' +
      `database, such as "postgres://user@host/database"${unknown}.`
    throw new GatewayError('store_unavailable', sentence)
  }
  const path = resolve(dir, rest)
  createDirectory(dirname(path))
  return createSqliteStore({ path, log, ...(onCommit && { onCommit }) })
}

/** PostgreSQL's own tools accept both. */
const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:\/\//.test(url)

function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const sentence =
      `The directory ${directory} of the store cannot be created (${code}); ` +
      "give the gateway's user write access, or choose another storage.url."
    throw new GatewayError('store_unavailable', sentence, { cause })
  }
}

/** Error messages repeat only the scheme: the rest of a URL may contain a password. */
function splitUrl(url: string): { scheme: string; rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(url) ?? []
  return { scheme, rest }
}
