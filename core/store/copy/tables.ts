// The tables that a copy of a store has, with their columns, as the migrations create them.
import { DatabaseSync } from 'node:sqlite'
import { migrate, migrations } from '../migrations/schema.ts'
import { createTransaction, dialect } from '../sqlite/connection.ts'

export interface CopiedTable {
  name: string
  columns: readonly string[]
  /** Those of its columns that hold texts. */
  texts: readonly string[]
  /** The columns of the primary key, in its order. */
  key: readonly string[]
  /** Whether the engine numbers its rows in the column `seq`. */
  isNumbered: boolean
}

/** The tables of each store for itself: its version, and leases, which belong to running gateways. */
const ownTables: ReadonlySet<string> = new Set(['migration', 'lease'])

const columnsSql = `
  SELECT tables.name AS "table", columns.name AS "column", columns.type, columns.pk AS "keyPosition"
  FROM pragma_table_list AS tables JOIN pragma_table_info(tables.name) AS columns
  WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'
  ORDER BY tables.name, columns.cid`

interface ColumnRow {
  table: string
  column: string
  type: string
  keyPosition: number
}

/** Read from an empty database in memory, so that no table or column can be forgotten. */
export async function listCopiedTables(): Promise<CopiedTable[]> {
  const db = new DatabaseSync(':memory:')
  try {
    const tx = createTransaction(db)
    await migrate(tx, { version: 0, steps: migrations, dialect })
    const rows = (await tx.all<ColumnRow>(columnsSql)).filter(({ table }) => !ownTables.has(table))
    return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => describeTable(name, columns))
  } finally {
    db.close()
  }
}

function describeTable(name: string, rows: readonly ColumnRow[]): CopiedTable {
  const namesOf = (some: readonly ColumnRow[]): string[] => some.map(({ column }) => column)
  const keyed = rows.filter(({ keyPosition }) => keyPosition > 0)
  const key = namesOf(keyed.toSorted((a, b) => a.keyPosition - b.keyPosition))
  const texts = namesOf(rows.filter(({ type }) => type === 'TEXT'))
  return { name, columns: namesOf(rows), texts, key, isNumbered: key.length === 1 && key[0] === 'seq' }
}
