// Collects the rows that a group of calls inserts, so that each table gets all of them in one statement.
import type { Transaction, Value } from '../transaction.ts'
import type { FindInsert, Insert } from './inserts.ts'
import type { PostgresTransaction } from './transaction.ts'

export interface InsertBatch {
  /** Keeps rows until `send`, and performs everything else at once. */
  tx: Transaction
  /** Sends the rows. Each table gets them in the order in which they were given. */
  send(): void
}

interface Row {
  values: readonly Value[]
  resolve: (inserted: Promise<number>) => void
}

export function createInsertBatch(tx: PostgresTransaction, findInsert: FindInsert): InsertBatch {
  let collected: Map<Insert, Row[]> | undefined = new Map()

  function collect(rows: Map<Insert, Row[]>, insert: Insert, values: readonly Value[]): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const own = rows.get(insert)
    if (own) own.push({ values, resolve })
    else rows.set(insert, [{ values, resolve }])
    return promise
  }

  return {
    tx: {
      ...tx,
      run: (sql, ...values) => {
        const insert = collected && findInsert(sql)
        return collected && insert ? collect(collected, insert, values) : tx.run(sql, ...values)
      },
    },
    send: () => {
      const sent = collected ?? []
      collected = undefined
      for (const [insert, rows] of sent)
        for (const distinct of separateRepeats(rows, insert.conflictColumns)) sendRows(tx, insert, distinct)
    },
  }
}

/** One statement cannot update a row twice: rows with the same key go into different statements, in their order. */
function separateRepeats(rows: readonly Row[], keyColumns: number): (readonly Row[])[] {
  if (keyColumns === 0) return [rows]
  const repeats = new Map<string, number>()
  const separated: Row[][] = []
  for (const row of rows) {
    const key = JSON.stringify(row.values.slice(0, keyColumns))
    const repeat = repeats.get(key) ?? 0
    repeats.set(key, repeat + 1)
    ;(separated[repeat] ??= []).push(row)
  }
  return separated
}

function sendRows(tx: PostgresTransaction, insert: Insert, rows: readonly Row[]): void {
  const inserted = insert
    .insert(
      tx,
      rows.map(({ values }) => values),
    )
    .then(() => 1)
  for (const { resolve } of rows) resolve(inserted)
}
