// Opens the store that `storage.url` names.
import { dirname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { GatewayError } from '../errors.ts'
import { textOf } from '../kit/shapes.ts'
import type { Log } from '../plugin/plugin.ts'
import { createPostgresStore } from './postgres/postgres.ts'
import { createDirectory } from './sqlite/lock.ts'
import { createSqliteStore, startThread } from './sqlite/sqlite.ts'
import type { OpeningStore } from './store.ts'
import { parseStoreUrl } from './store-url.ts'

export interface StoreOptions {
  url: string
  /** The configuration directory. Relative paths in the URL are resolved against it. */
  dir: string
  log: Log
  /** What `prepareStore` returned. */
  thread?: Worker | undefined
  /** Called after each commit with the number of operations in it. */
  onCommit?: ((operations: number) => void) | undefined
  /** Called once if another store has taken the place of this one. Nothing is written any more. */
  onReplaced?: ((error: GatewayError) => void) | undefined
}

/** Starts the thread of the embedded store before the configuration is checked, if its URL, as it is written, names one. */
export const prepareStore = (url: unknown): Worker | undefined =>
  url === undefined || textOf(url)?.startsWith('sqlite:') ? startThread() : undefined

/** Throws when the URL cannot be used. */
export function openStore({ url, dir, thread, ...options }: StoreOptions): OpeningStore {
  const address = parseStoreUrl(url, { dir })
  if (address.engine === 'postgres') return createPostgresStore({ ...options, url: address.url })
  createDirectory(dirname(address.path))
  return createSqliteStore({ ...options, thread, path: address.path })
}
