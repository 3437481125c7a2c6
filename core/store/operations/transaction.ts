// What an operation may do inside a transaction: the whole of what an engine has to offer.
import type { Space } from '../store.ts'

export type Value = string | number | null

/**
 * Statements are written once for every engine: `?` placeholders, ON CONFLICT, RETURNING, no JSON functions.
 * An embedded engine answers at once, a networked one with a promise; `await` reads the same for both.
 */
export interface Transaction {
  /** The rows of a query, or of a statement with RETURNING. */
  all<Row>(sql: string, ...values: Value[]): Row[] | Promise<Row[]>
  /** How many rows the statement changed. */
  run(sql: string, ...values: Value[]): number | Promise<number>
  getSpace(): Space | Promise<Space>
  /** Gives at most so many free bytes back to the disk, rounded up. */
  reclaimSpace(bytes: number): void | Promise<void>
}
