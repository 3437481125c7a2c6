// A connection to the SQLite file. Opening it recovers the log and migrates the tables; statements are prepared once.
import { closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { assertFinished } from '../copy/mark.ts'
import {
  assertKnown,
  type Dialect,
  type HasTable,
  migrate,
  type Migration,
  readVersion,
} from '../migrations/migrate.ts'
import { migrations } from '../migrations/migrations.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'
import {
  type Insertion,
  oneOfEach,
  type Row,
  type Space,
  toStatement,
  type Transaction,
  type Value,
} from '../transaction.ts'

export interface SqliteConnection {
  tx: Transaction
  /** Runs `work` in one transaction. Resolves when its changes are on disk. */
  transact<Result>(work: () => Promise<Result>): Promise<Result>
  /** Only to be used between two transactions. */
  checkpoints: Checkpoints
  /** Copies the whole log into the file. Nothing can be written any more. */
  copyLog(): Promise<void>
  close(): Promise<void>
}

const pageSize = 8192
const pragmas = `
  PRAGMA page_size = ${pageSize};
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = 1;
  PRAGMA checkpoint_fullfsync = 1;
  PRAGMA wal_autocheckpoint = 0;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -16384;
`

interface ConnectOptions {
  steps?: readonly Migration[]
  /** True: also opens an unfinished copy of another store. */
  forCopy?: boolean
}

export async function connect(
  path: string,
  { steps = migrations, forCopy = false }: ConnectOptions = {},
): Promise<SqliteConnection> {
  createPrivateFile(path)
  const db = new DatabaseSync(path, { timeout: 5000 })
  try {
    db.exec(pragmas)
    // After a failed fsync, pages of the log may be readable from the cache and yet missing on disk: copy them first.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const checkpoints = createCheckpoints(path, db)
    const close = async (): Promise<void> => {
      await checkpoints.close()
      db.close()
    }
    const tx = createTransaction(db, checkpoints)
    const copyLog = async (): Promise<void> => {
      await checkpoints.close()
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    }
    const connection = { tx, transact: transactOn(db, tx), checkpoints, copyLog, close }
    if (!forCopy) await assertFinished(connection.tx, hasTable)
    await migrateTables(connection, path, steps)
    return connection
  } catch (error) {
    db.close()
    throw error
  }
}

export interface SqliteReadConnection {
  tx: Transaction
  close(): void
}

/** Opens the file without changing it. Unless the URL says `immutable=1`, SQLite may create the log and its index. */
export function connectReadOnly(path: string | URL): SqliteReadConnection {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    // Opens the log and its index now; both stay open.
    db.exec('PRAGMA schema_version')
  } catch (error) {
    db.close()
    throw error
  }
  return { tx: createTransaction(db), close: () => db.close() }
}

const noCheckpoints: Pick<Checkpoints, 'request'> = { request() {} }

/** Makes the file readable by its owner only. SQLite creates the log with the same permissions. */
function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

interface SqliteTransaction extends Transaction {
  /** Inserts the sums of the transaction. */
  flush(): void
  /** Forgets them, because the transaction is rolled back. */
  discard(): void
}

export function createTransaction(
  db: DatabaseSync,
  checkpoints: Pick<Checkpoints, 'request'> = noCheckpoints,
): SqliteTransaction {
  /** Preparing a statement takes longer than running it. */
  const prepared = new Map<string | Insertion, StatementSync>()
  const prepare = (statement: string | Insertion): StatementSync => {
    const known = prepared.get(statement)
    if (known) return known
    const made = db.prepare(typeof statement === 'string' ? statement : toInsertSql(statement))
    prepared.set(statement, made)
    return made
  }
  /** Many calls of a group count in the same rows. */
  const sums = new Map<Insertion, Row[]>()
  return {
    all: <Found>(sql: string, ...values: Value[]) => prepare(sql).all(...values) as Found[],
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    flush: () => {
      for (const [insertion, rows] of sums) for (const row of oneOfEach(rows, insertion)) prepare(insertion).run(...row)
      sums.clear()
    },
    discard: () => sums.clear(),
    insert: <Returned>(insertion: Insertion, rows: readonly Row[], ...values: Value[]) => {
      if (insertion.atEnd === 'sum') {
        const known = sums.get(insertion)
        if (known) known.push(...rows)
        else sums.set(insertion, [...rows])
        return []
      }
      const statement = prepare(insertion)
      const bound = values.length === 0 ? rows : rows.map((row) => [...row, ...values])
      if (insertion.returning !== undefined) return bound.flatMap((row) => statement.all(...row) as Returned[])
      for (const row of bound) statement.run(...row)
      return []
    },
    getSpace: () => prepare(spaceSql).get() as unknown as Space,
    reclaimSpace: (bytes) => {
      db.exec(`PRAGMA incremental_vacuum(${Math.ceil(bytes / pageSize)})`)
      checkpoints.request()
    },
  }
}

export function toInsertSql(insertion: Insertion): string {
  const { columns, condition } = insertion
  const values = Object.keys(columns)
    .map(() => '?')
    .join(', ')
  return toStatement(insertion, condition === undefined ? `VALUES (${values})` : `SELECT ${values} WHERE ${condition}`)
}

const spaceSql = `
  SELECT page_count * page_size AS bytes, freelist_count * page_size AS free
  FROM pragma_page_count, pragma_freelist_count, pragma_page_size`

function transactOn(db: DatabaseSync, tx: SqliteTransaction): SqliteConnection['transact'] {
  return async (work) => {
    db.exec('BEGIN IMMEDIATE')
    try {
      const result = await work()
      tx.flush()
      db.exec('COMMIT')
      return result
    } catch (error) {
      tx.discard()
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }
}

export const dialect: Dialect = {
  sequence: 'INTEGER PRIMARY KEY',
  integer: 'INTEGER',
  text: 'TEXT',
  random: 'lower(hex(randomblob(16)))',
  table: ' STRICT',
  keyed: ' STRICT, WITHOUT ROWID',
}

async function migrateTables(connection: SqliteConnection, path: string, steps: readonly Migration[]): Promise<void> {
  const { tx } = connection
  const version = await readVersion(tx, hasTable)
  assertKnown(version, steps.length)
  if (version === steps.length) return
  if (version > 0) await backUp(tx, `${path}.before-version-${steps.length}`)
  await connection.transact(() => migrate(tx, { version, steps, dialect }))
}

export const hasTable: HasTable = async (tx, name) =>
  (await tx.all('SELECT 1 FROM sqlite_schema WHERE name = ?', name)).length > 0

/** Replaces a copy that an interrupted start left behind. */
async function backUp(tx: Transaction, copy: string): Promise<void> {
  rmSync(copy, { force: true })
  createPrivateFile(copy)
  await tx.run('VACUUM INTO ?', copy)
}
