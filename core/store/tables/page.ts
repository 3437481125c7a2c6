// Pages of lists, newest first. A list reads a window of rows by one index, filters them by their short columns, and
// reads only the rows of the page completely.
import type { Transaction, Value } from '../transaction.ts'

export interface PageRequest {
  /** Returns only rows that are older than this one. */
  before?: number | undefined
  /** The maximum number of rows. */
  limit: number
}

export interface Page<Row> {
  items: Row[]
  /**
   * Where the next page starts; absent on the last page. A page may be short or empty and still have a next one,
   * because one call reads a limited number of rows.
   */
  next?: number
}

/** The most rows and bytes that one call reads, so that it does not delay concurrent writes for long. */
const maxWindowRows = 1000
export const maxBytes = 2 * 1024 * 1024

export interface Listing<Key extends Numbered, Row> {
  table: string
  /** Columns for filtering, `seq` included. They must precede the long texts of a row: SQLite reads a row in order. */
  keys: string
  /** A condition, with its values, for which an index returns rows in the order of `seq`. */
  where?: Condition | undefined
  /** Whether a row may belong to the list, by its key; absent: every row may. */
  matchesKey?: ((key: Key) => boolean) | undefined
  /** Whether no row after this one can belong to the list. */
  isPastEnd?: (key: Key) => boolean
  /** The columns of a row in the page, and the values of their placeholders. */
  columns: string
  values?: readonly Value[]
  /** Whether a completely read row belongs to the list; absent: every row does. */
  matchesRow?: ((row: Row) => boolean) | undefined
  /** The approximate size of a row in bytes. */
  sizeOf: (row: Row) => number
  /** The number of rows in the window. */
  windowRows?: number | undefined
}

export type Condition = readonly [sql: string, ...values: Value[]]

interface Numbered {
  seq: number
}

/** Ends a page early at `maxBytes`, but not before its first row. */
export async function listPage<Key extends Numbered, Row>(
  tx: Transaction,
  listing: Listing<Key, Row>,
  page: PageRequest,
): Promise<Page<Row>> {
  const { table, columns, values = [], matchesKey, matchesRow, isPastEnd, sizeOf } = listing
  const { limit } = page
  const windowRows = listing.windowRows ?? (matchesKey || matchesRow ? maxWindowRows : limit + 1)
  const window = await readWindow<Key>(tx, listing, { ...page, limit: windowRows })
  const items: Row[] = []
  let bytesLeft = maxBytes
  let last: Key | undefined
  for (const key of window) {
    if (last && (items.length === limit || bytesLeft <= 0)) return { items, next: last.seq }
    last = key
    if (matchesKey?.(key) === false) continue
    const [row] = await tx.all<Row>(`SELECT ${columns} FROM ${table} WHERE seq = ?`, ...values, key.seq)
    if (!row) continue
    bytesLeft -= sizeOf(row)
    if (matchesRow?.(row) !== false) items.push(row)
  }
  return last && window.length === windowRows && !isPastEnd?.(last) ? { items, next: last.seq } : { items }
}

async function readWindow<Key>(
  tx: Transaction,
  { table, keys, where: [condition, ...values] = ['TRUE'] }: Pick<Listing<never, never>, 'table' | 'keys' | 'where'>,
  { before = Number.MAX_SAFE_INTEGER, limit }: PageRequest,
): Promise<Key[]> {
  return await tx.all<Key>(
    `SELECT ${keys} FROM ${table} WHERE ${condition} AND seq < ? ORDER BY seq DESC LIMIT ?`,
    ...values,
    before,
    limit,
  )
}

export const mapPage = <Row, Item>(page: Page<Row>, map: (row: Row) => Item): Page<Item> => ({
  ...page,
  items: page.items.map(map),
})

/** Merges pages of two lists. Rows beyond the end of a page that has a next one are left to the next merged page. */
export function mergePages<Row extends Numbered>(one: Page<Row>, other: Page<Row>, limit: number): Page<Row> {
  const firstSeq = Math.max(one.next ?? 0, other.next ?? 0)
  const rows = [...one.items, ...other.items].filter(({ seq }) => seq >= firstSeq).sort((a, b) => b.seq - a.seq)
  const items = rows.slice(0, limit)
  const next = rows.length > limit ? items.at(-1)?.seq : firstSeq || undefined
  return next === undefined ? { items } : { items, next }
}
