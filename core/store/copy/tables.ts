// The tables that a copy of a store has, as the migrations create them, and how their rows are read and compared.
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { hash } from 'node:crypto'
import { migrate } from '../migrations/migrate.ts'
import { migrations } from '../migrations/migrations.ts'
import { toStorable } from '../postgres/array.ts'
import { createTransaction, dialect } from '../sqlite/connection.ts'
import type { Transaction, Value } from '../transaction.ts'

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

/** The tables of each store for itself: its version, its identity, and leases, which belong to running gateways. */
const ownTables: ReadonlySet<string> = new Set(['migration', 'identity', 'lease'])

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

export type Row = Readonly<Record<string, Value>>

/** The most rows, and bytes of their texts, of a batch. A row that is longer is a batch by itself. */
const maxRows = 1000
const maxBytes = 4 * 1024 * 1024

/** Reads the rows that follow a key; all from the first one for an empty key. @returns an empty list at the end */
export async function readBatch(tx: Transaction, table: CopiedTable, after: readonly Value[]): Promise<Row[]> {
  // An embedded engine answers at once, so nothing else would run in between: signals, and the progress that is shown.
  await setImmediate()
  const count = await countFitting(tx, table, after)
  if (count === 0) return []
  return await tx.all<Row>(`SELECT ${table.columns.join(', ')} ${followingSql(table, after)}`, ...after, count)
}

/** Engines know the size of a text without reading it. */
async function countFitting(tx: Transaction, table: CopiedTable, after: readonly Value[]): Promise<number> {
  const sizes = table.texts.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ')
  const rows = await tx.all<{ size: number }>(
    `SELECT ${sizes} AS size ${followingSql(table, after)}`,
    ...after,
    maxRows,
  )
  let bytesLeft = maxBytes
  const full = rows.findIndex(({ size }) => (bytesLeft -= size) < 0)
  return full === -1 ? rows.length : Math.max(1, full)
}

function followingSql({ name, key }: CopiedTable, after: readonly Value[]): string {
  const columns = key.join(', ')
  const condition = after.length > 0 ? `WHERE (${columns}) > (${after.map(() => '?').join(', ')})` : ''
  return `FROM ${name} ${condition} ORDER BY ${columns} LIMIT ?`
}

export const keyOf = ({ key }: CopiedTable, row: Row): Value[] => key.map((column) => row[column] as Value)

export async function countRows(tx: Transaction, { name }: CopiedTable): Promise<number> {
  const [row] = await tx.all<{ count: number }>(`SELECT count(*) AS count FROM ${name}`)
  return row?.count ?? 0
}

/** A row as every engine can store it, so that copies of a store are equal in all of them. */
export const toPortableRow = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, toStorable(value)]))

export interface TableSum {
  rows: number
  /** 32 hexadecimal digits. */
  checksum: string
}

const modulus = 2n ** 128n

/** Reads all rows. `report` gets the number of rows of each batch. */
export async function sumTable(tx: Transaction, table: CopiedTable, report: (rows: number) => void): Promise<TableSum> {
  let [rows, sum]: [number, bigint] = [0, 0n]
  let after: Value[] = []
  for (;;) {
    const batch = await readBatch(tx, table, after)
    const last = batch.at(-1)
    if (!last) return { rows, checksum: sum.toString(16).padStart(32, '0') }
    for (const row of batch) sum = (sum + hashRow(table, row)) % modulus
    rows += batch.length
    after = keyOf(table, last)
    report(batch.length)
  }
}

/** Texts with NUL characters sort differently once these are replaced, so the hashes are added. */
function hashRow({ columns }: CopiedTable, row: Row): bigint {
  const values = columns.map((column) => toStorable(row[column] ?? null))
  return BigInt(`0x${hash('sha256', JSON.stringify(values), 'hex').slice(0, 32)}`)
}
