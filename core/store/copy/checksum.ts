// The checksum of a table: equal for equal rows, whatever the engine and the order of the rows.
import { hash } from 'node:crypto'
import type { Transaction, Value } from '../transaction.ts'
import { keyOf, readBatch, type Row, toPortable } from './rows.ts'
import type { CopiedTable } from './tables.ts'

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
  const values = columns.map((column) => toPortable(row[column] ?? null))
  return BigInt(`0x${hash('sha256', JSON.stringify(values), 'hex').slice(0, 32)}`)
}
