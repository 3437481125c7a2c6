// Looks at a store without opening it for work: nothing is created, migrated or locked.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { storeFileOf } from './store-url.ts'
import { readVersion } from './migrations/migrate.ts'
import { connectReadOnly, hasTable as hasSqliteTable } from './sqlite/connection.ts'
import { toFailure } from './sqlite/failure.ts'
import { GatewayError } from '../errors.ts'
import { openConnection } from './postgres/database.ts'
import { explainRefusal, isRefusal } from './postgres/failure.ts'
import { findRiskySettings, findWriteObstacle, hasTable as hasPostgresTable } from './postgres/migrate.ts'
import { createTransaction, createTranslation } from './postgres/transaction.ts'

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

/** `reason` is a sentence without secrets. */
export type StoreReport =
  | { state: 'absent' }
  | {
      state: 'readable'
      /** Of the tables. 0: there are none. */
      version: number
      bytes: number
      /** Why it can only be read: the end of a sentence. */
      writeObstacle?: string | undefined
      /** The names of settings because of which a server may lose what it has committed. */
      riskySettings: readonly string[]
    }
  /** `refused`: the server answers, but not to this user. `unusable`: the store is damaged, or is something else. */
  | { state: 'unreachable' | 'refused' | 'unusable'; reason: string }

async function inspectSqlite(path: string): Promise<StoreReport> {
  if (!existsSync(path)) return { state: 'absent' }
  if (!mayAccess(path, constants.R_OK))
    return { state: 'unusable', reason: `This user may not read the store ${path}; do this as the user of the gateway` }
  try {
    const connection = connectReadOnly(chooseAddress(path))
    try {
      const version = await readVersion(connection.tx, hasSqliteTable)
      const writeObstacle = mayAccess(path, constants.W_OK) ? undefined : mayNotWrite
      return { state: 'readable', version, bytes: statSync(path).size, riskySettings: [], writeObstacle }
    } finally {
      connection.close()
    }
  } catch (error) {
    return { state: 'unusable', reason: toFailure(error, path).reason }
  }
}

/** SQLite only says that it cannot open the file. */
function mayAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

const mayNotWrite = 'this user may not write it; do this as the user of the gateway, or give the file to it'

/** A file without a log is not open, and SQLite must not create a log for it. */
function chooseAddress(path: string): string | URL {
  if (existsSync(`${path}-wal`)) return path
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

async function inspectPostgres(url: string, limitMs: number): Promise<StoreReport> {
  try {
    const client = await openConnection(url, { connectMs: limitMs })
    try {
      await client.query(`SET statement_timeout = ${limitMs}`)
      const tx = createTransaction(client, createTranslation())
      const riskySettings = await findRiskySettings({ query: async <Row>(sql: string) => await tx.all<Row>(sql) })
      const version = await readVersion(tx, hasPostgresTable)
      return { state: 'readable', version, bytes: 0, riskySettings, writeObstacle: await findWriteObstacle(tx) }
    } finally {
      await client.end()
    }
  } catch (error) {
    if (error instanceof GatewayError) return { state: 'unusable', reason: error.message }
    const reason = `The PostgreSQL database of storage.url cannot be used: ${explainRefusal(error)}`
    return { state: isRefusal(error) ? 'refused' : 'unreachable', reason }
  }
}
