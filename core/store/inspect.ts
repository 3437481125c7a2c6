// Looks at a store without opening it for work: nothing is created, migrated or locked.
import { inspectPostgres } from './postgres/inspect.ts'
import type { StoreReport } from './report.ts'
import { inspectSqlite } from './sqlite/inspect.ts'
import { storeFileOf } from './store-url.ts'

export interface InspectOptions {
  url: string
  /** The configuration directory. */
  dir: string
  /** How long a database server may take. */
  limitMs: number
}

export async function inspectStore({ url, dir, limitMs }: InspectOptions): Promise<StoreReport> {
  const file = storeFileOf(url, dir)
  return file === undefined ? await inspectPostgres(url, limitMs) : await inspectSqlite(file)
}
