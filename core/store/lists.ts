// Lists, newest first: a window of rows that one index hands out in order, sifted, with the place to go on from.
import type { Page, PageRequest } from './store.ts'
import type { Transaction, Value } from './transaction.ts'

/** Rows that one call looks at: whatever is asked for, it holds up the writes of the moment no longer than that takes. */
const windowRows = 1000

export interface Listing<Row> {
  /** Columns and table, `SELECT … FROM …`, with `seq` among them. */
  select: string
  /** Values for the placeholders among the columns. */
  values?: readonly Value[]
  /** A condition that an index answers in the order of `seq`, and its values. */
  where?: Condition | undefined
  /** Whether a row of the window belongs into the list. */
  fits: (row: Row) => boolean
  /** Whether nothing behind this row can belong into it. */
  ends?: (row: Row) => boolean
  /** Rows that this listing looks at. */
  rows?: number
}

export type Condition = readonly [sql: string, ...values: Value[]]

interface Numbered {
  seq: number
}

export async function listPage<Row extends Numbered>(tx: Transaction, listing: Listing<Row>, { before, limit }: PageRequest): Promise<Page<Row>> {
  const { select, values = [], where: [condition, ...wanted] = ['TRUE'], fits, ends = () => false, rows = windowRows } = listing
  const sql = `${select} WHERE ${condition} AND seq < ? ORDER BY seq DESC LIMIT ?`
  const looked = await tx.all<Row>(sql, ...values, ...wanted, before ?? Number.MAX_SAFE_INTEGER, rows)
  const items = looked.filter(fits).slice(0, limit)
  const end = looked.length === rows ? looked.at(-1) : undefined
  const last = items.length === limit ? items.at(-1) : end && !ends(end) ? end : undefined
  return last ? { items, next: last.seq } : { items }
}

/** The same page with its rows in another shape. */
export const mapPage = <Row, Item>(page: Page<Row>, shape: (row: Row) => Item): Page<Item> => ({ ...page, items: page.items.map(shape) })

/** Two lists of different rows as one. What lies behind the end of a list that goes on is for a later page. */
export function mergePages<Row extends Numbered>(one: Page<Row>, other: Page<Row>, limit: number): Page<Row> {
  const known = Math.max(one.next ?? 0, other.next ?? 0)
  const rows = [...one.items, ...other.items].filter(({ seq }) => seq >= known).sort((a, b) => b.seq - a.seq)
  const items = rows.slice(0, limit)
  const next = rows.length > limit ? items.at(-1)?.seq : known || undefined
  return next === undefined ? { items } : { items, next }
}
