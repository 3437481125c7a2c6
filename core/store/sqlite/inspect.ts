// Looks at an SQLite store: the version of its tables and its size.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { StoreReport } from '../report.ts'
import { connectReadOnly, readVersion } from './connection.ts'
import { toFailure } from './failure.ts'

export async function inspectSqlite(path: string): Promise<StoreReport> {
  if (!existsSync(path)) return { state: 'absent' }
  if (!isReadable(path))
    return { state: 'unusable', reason: `This user may not read the store ${path}; do this as the user of the gateway` }
  try {
    const connection = connectReadOnly(chooseAddress(path))
    try {
      return { state: 'readable', version: await readVersion(connection.tx), bytes: statSync(path).size }
    } finally {
      connection.close()
    }
  } catch (error) {
    return { state: 'unusable', reason: toFailure(error, path).reason }
  }
}

/** SQLite only says that it cannot open the file. */
function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** A file without a log is not open, and SQLite must not create a log for it. */
function chooseAddress(path: string): string | URL {
  if (existsSync(`${path}-wal`)) return path
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}
