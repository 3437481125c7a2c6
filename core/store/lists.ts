// Lists, newest first: a window of rows that one index hands out in order, sifted, with the place to go on from.
import type { Page, PageRequest } from './store.ts'
import type { Transaction, Value } from './transaction.ts'

/** Rows that one call looks at: whatever is asked for, it holds up the writes of the moment no longer than that takes. */
export const windowRows = 1000

export interface Window {
  /** Columns and table, `SELECT … FROM …`, with `seq` among them. */
  select: string
  /** A condition that an index answers in the order of `seq`, and its values. */
  where?: readonly [condition: string, ...values: Value[]] | undefined
  /** Values for the placeholders among the columns. */
  values?: readonly Value[]
  rows?: number
}

interface Numbered {
  seq: number
}

export async function listPage<Row extends Numbered>(tx: Transaction, window: Window, page: PageRequest, fits: (row: Row) => boolean): Promise<Page<Row>> {
  const { select, where: [condition, ...values] = ['TRUE'], rows = windowRows } = window
  const sql = `${select} WHERE ${condition} AND seq < ? ORDER BY seq DESC LIMIT ?`
  const looked = await tx.all<Row>(sql, ...(window.values ?? []), ...values, page.before ?? Number.MAX_SAFE_INTEGER, rows)
  const items = looked.filter(fits).slice(0, page.limit)
  const last = items.length === page.limit ? items.at(-1) : looked.length === rows ? looked.at(-1) : undefined
  return last ? { items, next: last.seq } : { items }
}
