// What an operation can do inside a transaction. An engine implements exactly this.
import type { Space } from './store.ts'

export type Value = string | number | null

/**
 * All engines share the same statements: `?` placeholders, ON CONFLICT and RETURNING, but no JSON functions. An
 * embedded engine returns values and a networked one returns promises; operations `await` both.
 */
export interface Transaction {
  /** The rows of a query, or of a statement with RETURNING. */
  all<Row>(sql: string, ...values: Value[]): Row[] | Promise<Row[]>
  /** The number of rows that the statement changed. */
  run(sql: string, ...values: Value[]): number | Promise<number>
  getSpace(): Space | Promise<Space>
  /** Returns up to this many free bytes to the disk, rounded up. */
  reclaimSpace(bytes: number): void | Promise<void>
}
