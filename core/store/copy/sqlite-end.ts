// An SQLite file as an end of a copy.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { readVersion } from '../migrations/migrate.ts'
import { connect, connectReadOnly, dialect, hasTable } from '../sqlite/connection.ts'
import { acquireLock, createDirectory, type Lock } from '../sqlite/lock.ts'
import type { Transaction } from '../transaction.ts'
import { assertComplete, type CopyEnd, noStore, type StoreReader, type StoreWriter } from './end.ts'
import type { CopiedTable, Row } from './tables.ts'

const advice = 'stop the gateway, and run the command again'

export function createSqliteEnd(path: string): CopyEnd {
  const location = `sqlite:${path}`

  async function openReader(): Promise<StoreReader | undefined> {
    if (!existsSync(path)) return undefined
    const { tx, close } = connectReadOnly(path)
    const version = await readVersion(tx, hasTable)
    if (version > 0) return { location, tx, version, hasTable, close: async () => close() }
    close()
    return undefined
  }

  async function openSource(lock: Lock): Promise<StoreReader> {
    const reader = await openReader()
    if (!reader) throw noStore(location)
    await assertComplete(reader)
    return { ...reader, close: () => reader.close().then(lock.release) }
  }

  async function openTarget(lock: Lock, prepare: Parameters<CopyEnd['openTarget']>[0]): Promise<StoreWriter> {
    const { tx, transact, checkpoints, close } = await connect(path, { forCopy: true })
    await transact(() => prepare({ location, tx, hasTable, dialect }))
    return {
      location,
      tx,
      hasTable,
      transact: async (work) => {
        await checkpoints.runIfDue()
        return await transact(() => work(tx))
      },
      insertRows,
      completeTable: async () => {},
      close: () => close().then(lock.release),
    }
  }

  return {
    openReader,
    openSource: async () => {
      if (!existsSync(path)) throw noStore(location)
      return await withLock(path, openSource)
    },
    openTarget: async (prepare) => {
      createDirectory(dirname(path))
      return await withLock(path, (lock) => openTarget(lock, prepare))
    },
  }
}

/** Releases the lock if `open` fails. */
async function withLock<Opened>(path: string, open: (lock: Lock) => Promise<Opened>): Promise<Opened> {
  const lock = acquireLock(path, advice)
  try {
    return await open(lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function insertRows(tx: Transaction, { name, columns }: CopiedTable, rows: readonly Row[]): Promise<void> {
  const sql = `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  for (const row of rows) await tx.run(sql, ...columns.map((column) => row[column] ?? null))
}
