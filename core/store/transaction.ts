// What an operation can do inside a transaction. An engine implements exactly this.

export type Value = string | number | null

/** Milliseconds since 1970-01-01 UTC. */
export type Timestamp = number

/** Disk space in bytes: the size of the store, and how much of it is free. */
export interface Space {
  bytes: number
  free: number
}

/** How rows are inserted into a table. */
export interface Insertion {
  table: string
  /** The columns and their types, in the order of a row's values. */
  columns: Readonly<Record<string, 'text' | 'integer'>>
  /** The rows are inserted only if this holds. Its placeholders take the values that follow the rows. */
  condition?: string
  /** `ON CONFLICT …`. Its placeholders take the values that follow the rows. */
  onConflict?: string
  /** How many of the first columns are the key of `onConflict`. */
  keyColumns?: number
  /** The columns that RETURNING returns. */
  returning?: string
  /**
   * A database that several gateways share inserts the rows of the whole transaction at its end, in the order of their
   * keys, so that two transactions that write the same rows never wait for each other. `last`: of the rows with the same
   * key, the last one counts. `sum`: the other columns are added up, in every database.
   */
  atEnd?: 'last' | 'sum'
  /** Makes the rows that a row of a `sum` is inserted as. Equal rows are added up before they are split. */
  split?: (row: Row) => Row[]
}

export type Row = readonly Value[]

/**
 * All engines share the same statements: `?` placeholders, ON CONFLICT and RETURNING, but no JSON functions. An
 * embedded engine returns values and a networked one returns promises; operations `await` both.
 */
export interface Transaction {
  /** The rows of a query, or of a statement with RETURNING. */
  all<Found>(sql: string, ...values: Value[]): Found[] | Promise<Found[]>
  /** The number of rows that the statement changed. */
  run(sql: string, ...values: Value[]): number | Promise<number>
  /**
   * Inserts rows in their order; there may be none. With ON CONFLICT, no two of them may have the same key.
   * @returns a row for each row that was inserted or updated, if the insertion has `returning`
   */
  insert<Returned>(insertion: Insertion, rows: readonly Row[], ...values: Value[]): Returned[] | Promise<Returned[]>
  getSpace(): Space | Promise<Space>
  /** Returns up to this many free bytes to the disk, rounded up. */
  reclaimSpace(bytes: number): void | Promise<void>
}

/** Reads rows. */
export type Reader = Pick<Transaction, 'all'>

/**
 * A result that is read when the transaction has ended. Its rows may be long, and a caller that does not take them must
 * not hold up those who wait for the locks of the transaction.
 */
export interface ReadLater<Result> {
  readLater(tx: Reader): Promise<Result>
}

export const isReadLater = (result: unknown): result is ReadLater<unknown> =>
  typeof result === 'object' && result !== null && 'readLater' in result

/** Returns the statement of an insertion. Engines differ in how they give it the rows. */
export function toStatement({ table, columns, onConflict = '', returning }: Insertion, rows: string): string {
  const names = Object.keys(columns).join(', ')
  const end = returning === undefined ? '' : `RETURNING ${returning}`
  return `INSERT INTO ${table} (${names}) ${rows} ${onConflict} ${end}`
}

/** One statement cannot update a row twice: of the rows with the same key, the last one counts, or their sum. */
export function oneOfEach(rows: readonly Row[], { keyColumns, atEnd, split }: Insertion): readonly Row[] {
  if (keyColumns === undefined) return rows
  if (rows.length === 1) return split ? rows.flatMap(split) : rows
  if (split) return addRows(addRows(rows, keyColumns).flatMap(split), keyColumns)
  if (atEnd === 'sum') return addRows(rows, keyColumns)
  return [...new Map(rows.map((row) => [JSON.stringify(row.slice(0, keyColumns)), row])).values()]
}

/** Every accepted run passes here with several rows, so this makes little garbage. */
function addRows(rows: readonly Row[], keyColumns: number): Row[] {
  const byKey = new Map<string, Value[]>()
  for (const row of rows) {
    let key = ''
    for (let index = 0; index < keyColumns; index++) key += `${row[index]}\0`
    const sum = byKey.get(key)
    if (!sum) byKey.set(key, [...row])
    else for (let index = keyColumns; index < row.length; index++) sum[index] = Number(sum[index]) + Number(row[index])
  }
  return [...byKey.values()]
}

/** Like `Promise.all`, but rejects only when all have ended, so that nothing is left running on a connection. */
export async function settleAll<Results extends readonly unknown[]>(
  promises: Results,
): Promise<{ -readonly [Index in keyof Results]: Awaited<Results[Index]> }> {
  await Promise.allSettled(promises)
  return await Promise.all(promises)
}
