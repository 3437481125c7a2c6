// Migrates a database: it gets the migrations that it has not had yet.
import { GatewayError } from '../../errors.ts'
import type { Transaction } from '../transaction.ts'

/** Throws if a newer version of the gateway created the tables. */
export function assertKnown(version: number, newest: number): void {
  if (version <= newest) return
  throw new GatewayError(
    'store_unavailable',
    `The store has tables of version ${version}, but this program knows them only up to version ${newest}; ` +
      'start the newer program that wrote it, or restore the copy that was made before its migration.',
  )
}

/** Migrates tables of `version` (0: none exist) to the newest one. Runs inside one transaction. */
export async function migrate(
  tx: Transaction,
  { version, steps: all, dialect }: { version: number; steps: readonly Migration[]; dialect: Dialect },
): Promise<void> {
  const { integer, text, table } = dialect
  if (version === 0)
    await tx.run(`CREATE TABLE migration (version ${integer} NOT NULL PRIMARY KEY, name ${text} NOT NULL)${table}`)
  for (const [index, { name, statements }] of all.entries()) {
    if (index < version) continue
    for (const statement of statements(dialect)) await tx.run(statement)
    await tx.run('INSERT INTO migration (version, name) VALUES (?, ?)', index + 1, name)
  }
}

/** Whether the store has a table. */
export type HasTable = (tx: Transaction, name: string) => Promise<boolean>

/** The number of migrations that the tables have had. 0: there are no tables. */
export async function readVersion(tx: Transaction, hasTable: HasTable): Promise<number> {
  if (!(await hasTable(tx, 'migration'))) return 0
  const [newest] = await tx.all<{ version: number }>('SELECT max(version) AS version FROM migration')
  return newest?.version ?? 0
}

/** The SQL words in which database engines differ when tables are created. */
export interface Dialect {
  /** The type of a primary key column that numbers the rows in insertion order. */
  sequence: string
  integer: string
  /** The type of texts. They are compared by their bytes. */
  text: string
  /** A random text. */
  random: string
  /** The suffix of CREATE TABLE. */
  table: string
  /** The suffix of CREATE TABLE for a table whose rows are only looked up by primary key. */
  keyed: string
}

export interface Migration {
  name: string
  statements: (dialect: Dialect) => string[]
}
