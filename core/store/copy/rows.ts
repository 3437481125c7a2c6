// Reads the rows of a table in the order of its key, in batches that fit into memory.
import { setImmediate } from 'node:timers/promises'
import type { Transaction, Value } from '../transaction.ts'
import type { CopiedTable } from './tables.ts'

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

/** PostgreSQL cannot store NUL characters in texts, so copies of a store have a replacement in both engines. */
export const toPortable = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value

export const toPortableRow = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, toPortable(value)]))
