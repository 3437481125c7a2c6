// A PostgreSQL database as an end of a copy. One connection does everything, and its locks end with it.
import type { Client } from 'pg'
import { GatewayError } from '../../errors.ts'
import { openConnection } from '../postgres/database.ts'
import { describe } from '../postgres/failure.ts'
import { dialect, hasTable, inTransaction, lockNumberOf, migrateDatabase, readStoreId } from '../postgres/migrate.ts'
import { readVersion } from '../migrations/migrate.ts'
import { createTransaction, createTranslation } from '../postgres/transaction.ts'
import type { Transaction } from '../transaction.ts'
import { assertComplete, type CopyEnd, noStore, type StoreReader } from './end.ts'
import type { CopiedTable, Row } from './tables.ts'

export function createPostgresEnd(url: string): CopyEnd {
  return {
    openReader: () =>
      connectTo(url, async (connection) => {
        const version = await readVersion(connection.tx, hasTable)
        if (version > 0) return { ...connection, version, hasTable }
        await connection.close()
        return undefined
      }),
    openSource: () =>
      connectTo(url, async (connection): Promise<StoreReader> => {
        const { tx, location } = connection
        const reader = { ...connection, version: await readVersion(tx, hasTable), hasTable }
        if (reader.version === 0) throw noStore(location)
        await assertComplete(reader)
        await lockForCopy(tx, { storeId: await readStoreId(tx), location })
        return reader
      }),
    openTarget: (prepare) =>
      connectTo(url, async ({ client, ...connection }) => {
        const { location } = connection
        await migrateDatabase({ client, tx: connection.tx }, async (tx, storeId) => {
          await lockForCopy(tx, { storeId, location })
          await prepare({ location, tx, hasTable, dialect })
        })
        const transact = <Result>(work: (tx: Transaction) => Promise<Result>) =>
          inTransaction(client, () => work(connection.tx))
        return { ...connection, hasTable, transact, insertRows, completeTable }
      }),
  }
}

interface Connection {
  client: Client
  location: string
  tx: Transaction
  close(): Promise<void>
}

/** Closes the connection if `open` fails. */
async function connectTo<Opened>(url: string, open: (connection: Connection) => Promise<Opened>): Promise<Opened> {
  const client = await openConnection(url).catch(refuse)
  try {
    const tx = createTransaction(client, createTranslation())
    return await open({ client, location: await locate(client, tx), tx, close: () => client.end() })
  } catch (error) {
    await client.end().catch(() => undefined)
    return refuse(error)
  }
}

function refuse(error: unknown): never {
  if (error instanceof GatewayError) throw error
  const sentence = `The PostgreSQL database cannot be used: ${describe(error)}.`
  throw new GatewayError('store_unavailable', sentence, { cause: error })
}

/** The parts of the address that PGHOST and other variables may supply are known only now. */
async function locate({ host, port, database }: Client, tx: Transaction): Promise<string> {
  const [row] = await tx.all<{ schema: string }>('SELECT current_schema() AS schema')
  const schema = row && row.schema !== 'public' ? ` (schema ${row.schema})` : ''
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${port}/${database ?? ''}${schema}`
}

/** All rows in one value, which the server divides: one round trip, and one short statement per table. */
async function insertRows(tx: Transaction, { name, columns }: CopiedTable, rows: readonly Row[]): Promise<void> {
  const list = columns.join(', ')
  const sql = `INSERT INTO ${name} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${name}, ?::json)`
  await tx.run(sql, JSON.stringify(rows))
}

/** New rows are numbered after the last one. The statistics tell the planner at once how large the table is. */
async function completeTable(tx: Transaction, { name, isNumbered }: CopiedTable): Promise<void> {
  if (isNumbered) await tx.all(`SELECT setval(pg_get_serial_sequence(?, 'seq'), (SELECT max(seq) FROM ${name}))`, name)
  await tx.run(`ANALYZE ${name}`)
}

const copyLockSql = 'SELECT pg_try_advisory_lock(?, 1) AS "isFree"'
const writeLockSql = 'SELECT pg_advisory_lock(?, 0)'

/**
 * Takes the store for the rest of the connection: nobody else can write to it. Throws if a gateway runs on it, which
 * always holds a lease, or if another copy is under way.
 */
async function lockForCopy(tx: Transaction, { storeId, location }: { storeId: number; location: string }) {
  const isUsed = new GatewayError(
    'store_unavailable',
    `The store ${location} is in use; stop all gateways and other copies of it. A gateway that was killed counts as ` +
      'running for 15 seconds.',
  )
  // First without the lock of writes, so that running gateways notice nothing.
  if (await hasRunningGateway(tx)) throw isUsed
  const [lock] = await tx.all<{ isFree: boolean }>(copyLockSql, lockNumberOf(storeId))
  if (!lock?.isFree) throw isUsed
  await tx.all(writeLockSql, lockNumberOf(storeId))
  if (await hasRunningGateway(tx)) throw isUsed
}

/** One of the gateways always holds a lease, for the heartbeat. Leases use the clock of the database. */
const leaseSql = `
  SELECT 1 FROM lease WHERE until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint LIMIT 1`

const hasRunningGateway = async (tx: Transaction): Promise<boolean> => (await tx.all(leaseSql)).length > 0
