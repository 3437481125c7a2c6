// Lists, newest first: a window of rows that one index hands out in order, filtered by columns that are cheap to read;
// only rows of the page are read whole.
import type { Page, PageRequest } from '../store.ts'
import type { Transaction, Value } from './transaction.ts'

/** What one call reads at most, whatever is asked for: the writes of the moment wait no longer than that takes. */
const windowRows = 1000
export const bytesAtOnce = 2 * 1024 * 1024

export interface Listing<Key extends Numbered, Row> {
  table: string
  /**
   * Columns that decide, `seq` among them. None lies behind a long text in its row: SQLite would read that text to get
   * there.
   */
  keys: string
  /** A condition that an index answers in the order of `seq`, and its values. */
  where?: Condition | undefined
  /** Whether a row of the window may belong to the list; absent: each does. */
  fits?: ((key: Key) => boolean) | undefined
  /** Whether no row behind this one can belong to it. */
  ends?: (key: Key) => boolean
  /** The columns of a row in the page, and values for their placeholders. */
  columns: string
  values?: readonly Value[]
  /** Whether a row that was read whole belongs to the list; absent: each does. */
  matches?: ((row: Row) => boolean) | undefined
  /** How many bytes reading it took, roughly: its long texts. */
  sizeOf: (row: Row) => number
  /** Rows that this listing looks at. */
  rows?: number | undefined
}

export type Condition = readonly [sql: string, ...values: Value[]]

interface Numbered {
  seq: number
}

/** The page ends early when its rows are long: at `bytesAtOnce`, but not before its first row. */
export async function listPage<Key extends Numbered, Row>(
  tx: Transaction,
  listing: Listing<Key, Row>,
  page: PageRequest,
): Promise<Page<Row>> {
  const { table, columns, values = [], fits, matches, ends, sizeOf } = listing
  const { limit } = page
  const rows = listing.rows ?? (fits || matches ? windowRows : limit + 1)
  const window = await readWindow<Key>(tx, listing, { ...page, limit: rows })
  const items: Row[] = []
  let room = bytesAtOnce
  let last: Key | undefined
  for (const key of window) {
    if (last && (items.length === limit || room <= 0)) return { items, next: last.seq }
    last = key
    if (fits?.(key) === false) continue
    const [row] = await tx.all<Row>(`SELECT ${columns} FROM ${table} WHERE seq = ?`, ...values, key.seq)
    if (!row) continue
    room -= sizeOf(row)
    if (matches?.(row) !== false) items.push(row)
  }
  return last && window.length === rows && !ends?.(last) ? { items, next: last.seq } : { items }
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

/** The same page with its rows in another shape. */
export const mapPage = <Row, Item>(page: Page<Row>, shape: (row: Row) => Item): Page<Item> => ({
  ...page,
  items: page.items.map(shape),
})

/** Two lists of different rows as one. What lies behind the end of a list that goes on is for a later page. */
export function mergePages<Row extends Numbered>(one: Page<Row>, other: Page<Row>, limit: number): Page<Row> {
  const known = Math.max(one.next ?? 0, other.next ?? 0)
  const rows = [...one.items, ...other.items].filter(({ seq }) => seq >= known).sort((a, b) => b.seq - a.seq)
  const items = rows.slice(0, limit)
  const next = rows.length > limit ? items.at(-1)?.seq : known || undefined
  return next === undefined ? { items } : { items, next }
}
