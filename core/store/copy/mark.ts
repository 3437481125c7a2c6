// The mark of a store that is an unfinished copy of another one, with the progress of the copy. No gateway starts on a
// store that has the mark.
import { GatewayError } from '../../errors.ts'
import type { Dialect, HasTable } from '../migrations/migrate.ts'
import type { Transaction, Value } from '../transaction.ts'

export interface CopyMark {
  /** The location of the source, without credentials. */
  source: string
  /** By name. */
  tables: Record<string, TableProgress>
}

export interface TableProgress {
  /** The rows of the source when the copy began. */
  total: number
  copied: number
  /** The key of the last copied row; empty before the first one. */
  after: readonly Value[]
}

const markTable = 'unfinished_copy'
const sourceName = ''

export async function createMark(tx: Transaction, mark: CopyMark, { text, table }: Dialect): Promise<void> {
  await tx.run(`CREATE TABLE ${markTable} (name ${text} NOT NULL PRIMARY KEY, value ${text} NOT NULL)${table}`)
  const insert = `INSERT INTO ${markTable} (name, value) VALUES (?, ?)`
  await tx.run(insert, sourceName, mark.source)
  for (const [name, progress] of Object.entries(mark.tables)) await tx.run(insert, name, JSON.stringify(progress))
}

export async function readMark(tx: Transaction, hasTable: HasTable): Promise<CopyMark | undefined> {
  if (!(await hasTable(tx, markTable))) return undefined
  const rows = await tx.all<{ name: string; value: string }>(`SELECT name, value FROM ${markTable}`)
  const tables = rows.filter(({ name }) => name !== sourceName)
  return {
    source: rows.find(({ name }) => name === sourceName)?.value ?? '',
    tables: Object.fromEntries(tables.map(({ name, value }) => [name, JSON.parse(value) as TableProgress])),
  }
}

export async function saveProgress(tx: Transaction, name: string, progress: TableProgress): Promise<void> {
  await tx.run(`UPDATE ${markTable} SET value = ? WHERE name = ?`, JSON.stringify(progress), name)
}

export async function deleteMark(tx: Transaction): Promise<void> {
  await tx.run(`DROP TABLE ${markTable}`)
}

/** Throws if the store is an unfinished copy, because it lacks rows of its source. */
export async function assertFinished(tx: Transaction, hasTable: HasTable): Promise<void> {
  const mark = await readMark(tx, hasTable)
  if (!mark) return
  throw new GatewayError(
    'store_unavailable',
    `The store is an unfinished copy of ${mark.source}; run the same "svc-gateway store migrate" again to finish it, ` +
      'or set storage.url to another store.',
  )
}
