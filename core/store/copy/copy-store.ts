// Copies all rows of a store to another engine, and compares both. A copy that was interrupted goes on where it ended.
import { GatewayError } from '../../errors.ts'
import { describe } from '../postgres/failure.ts'
import type { StoreAddress } from '../store-url.ts'
import type { Transaction } from '../transaction.ts'
import {
  type CopiedTable,
  countRows,
  keyOf,
  listCopiedTables,
  readBatch,
  sumTable,
  type TableSum,
  toPortableRow,
} from './tables.ts'
import { assertComplete, type CopyEnd, type Preparation, type StoreReader, type StoreWriter } from './end.ts'
import { type CopyMark, createMark, deleteMark, readMark, saveProgress, type TableProgress } from './mark.ts'
import { createPostgresEnd } from './postgres-end.ts'
import { createSqliteEnd } from './sqlite-end.ts'
import { deleteOwnRows } from '../tables/state.ts'

export interface CopyAddresses {
  from: StoreAddress
  to: StoreAddress
}

export interface CopyOptions extends CopyAddresses {
  /** Deletes an unfinished copy and begins again. */
  restart: boolean
  /** Called after each batch, and once before the first one. */
  report(progress: CopyProgress): void
  /** Ends the copy after a batch. */
  signal: AbortSignal
}

export interface CopyProgress {
  step: 'copy' | 'compare'
  /** The rows of all tables so far; those that an interrupted copy had are included. */
  done: number
  total: number
}

export interface CopyResult {
  from: string
  to: string
  tables: ComparedTable[]
}

export interface ComparedTable {
  name: string
  from: TableSum
  to: TableSum
  isEqual: boolean
}

/** What a copy would begin with. */
export interface CopyPreview {
  from: string
  tables: { name: string; rows: number }[]
  /** Undefined: the store does not exist yet. */
  to: { location: string; rows: number; copyOf: string | undefined } | undefined
}

/** If the tables differ, the target keeps its mark, and no gateway starts on it. */
export const copyStore = (options: CopyOptions): Promise<CopyResult> =>
  explainFailure(() => copyAll(options), options.signal)

/** Reads both stores, also while gateways use them. */
export const previewCopy = (addresses: CopyAddresses): Promise<CopyPreview> => explainFailure(() => readBoth(addresses))

/** Errors of a disk, a file or a connection become one sentence. */
async function explainFailure<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof GatewayError || error instanceof TypeError || error === signal?.reason) throw error
    const sentence = `The copy failed: ${describe(error)}. When the cause is repaired, run the same command again.`
    throw new GatewayError('store_unavailable', sentence, { cause: error })
  }
}

async function copyAll({ from, to, restart, report, signal }: CopyOptions): Promise<CopyResult> {
  const [sourceEnd, targetEnd] = createEnds({ from, to })
  const tables = await listCopiedTables()
  await using opened = new AsyncDisposableStack()
  const source = await sourceEnd.openSource()
  opened.defer(source.close)
  const rows = await countTables(source.tx, tables)
  let mark: CopyMark | undefined
  const target = await targetEnd.openTarget(async (preparation) => {
    mark = await prepareMark(preparation, { tables, source: source.location, rows, restart })
  })
  opened.defer(target.close)
  const work = { source, target, tables, report, signal }
  await copyTables({ ...work, mark: mark as CopyMark })
  const compared = await compareTables(work)
  if (compared.every(({ isEqual }) => isEqual)) await target.transact(deleteMark)
  return { from: source.location, to: target.location, tables: compared }
}

interface Work {
  source: StoreReader
  target: StoreWriter
  tables: readonly CopiedTable[]
  report: CopyOptions['report']
  signal: AbortSignal
}

async function copyTables({ mark, report, ...work }: Work & { mark: CopyMark }): Promise<void> {
  const all = Object.values(mark.tables)
  const total = all.reduce((sum, table) => sum + table.total, 0)
  let done = all.reduce((sum, table) => sum + table.copied, 0)
  report({ step: 'copy', done, total })
  const advance = (rows: number): void => report({ step: 'copy', done: (done += rows), total })
  for (const table of work.tables)
    await copyTable(table, mark.tables[table.name] ?? { total: 0, copied: 0, after: [] }, { ...work, advance })
}

interface TableWork extends Pick<Work, 'source' | 'target' | 'signal'> {
  advance(rows: number): void
}

/** Each batch is one transaction together with the progress, so that a copy can be interrupted at any time. */
async function copyTable(table: CopiedTable, progress: TableProgress, work: TableWork): Promise<void> {
  const { source, target, signal, advance } = work
  let { copied, after } = progress
  for (;;) {
    signal.throwIfAborted()
    const rows = await readBatch(source.tx, table, after)
    const last = rows.at(-1)
    if (!last) break
    copied += rows.length
    after = keyOf(table, last)
    const reached = { total: progress.total, copied, after }
    await target.transact(async (tx) => {
      await target.insertRows(tx, table, rows.map(toPortableRow))
      await saveProgress(tx, table.name, reached)
    })
    advance(rows.length)
  }
  await target.transact((tx) => target.completeTable(tx, table))
}

async function compareTables({ source, target, tables, report, signal }: Work): Promise<ComparedTable[]> {
  const counts = await countTables(source.tx, tables)
  const total = 2 * Object.values(counts).reduce((sum, rows) => sum + rows, 0)
  let done = 0
  const advance = (rows: number): void => {
    signal.throwIfAborted()
    report({ step: 'compare', done: (done += rows), total })
  }
  const compared: ComparedTable[] = []
  for (const table of tables) {
    const from = await sumTable(source.tx, table, advance)
    const to = await sumTable(target.tx, table, advance)
    compared.push({ name: table.name, from, to, isEqual: from.rows === to.rows && from.checksum === to.checksum })
  }
  return compared
}

async function readBoth({ from, to }: CopyAddresses): Promise<CopyPreview> {
  const [sourceEnd, targetEnd] = createEnds({ from, to })
  const tables = await listCopiedTables()
  await using opened = new AsyncDisposableStack()
  const source = await sourceEnd.openReader()
  if (!source)
    throw new GatewayError('store_unavailable', 'There is no store to copy; no gateway has been started on it.')
  opened.defer(source.close)
  await assertComplete(source)
  const rows = Object.entries(await countTables(source.tx, tables)).map(([name, count]) => ({ name, rows: count }))
  const target = await targetEnd.openReader()
  if (!target) return { from: source.location, tables: rows, to: undefined }
  opened.defer(target.close)
  const known = target.version === source.version ? tables : []
  const found = Object.values(await countTables(target.tx, known)).reduce((sum, count) => sum + count, 0)
  const copyOf = (await readMark(target.tx, target.hasTable))?.source
  return { from: source.location, tables: rows, to: { location: target.location, rows: found, copyOf } }
}

function createEnds({ from, to }: CopyAddresses): [source: CopyEnd, target: CopyEnd] {
  if (from.engine === to.engine)
    throw new GatewayError(
      'store_unavailable',
      from.engine === 'sqlite'
        ? 'Both stores are SQLite files; use "svc-gateway backup" and "restore" to move one.'
        : 'Both stores are PostgreSQL databases; use pg_dump and pg_restore to move one.',
    )
  const create = (address: StoreAddress): CopyEnd =>
    address.engine === 'sqlite' ? createSqliteEnd(address.path) : createPostgresEnd(address.url)
  return [create(from), create(to)]
}

async function countTables(tx: Transaction, tables: readonly CopiedTable[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of tables) counts[table.name] = await countRows(tx, table)
  return counts
}

export interface CopyPlan {
  tables: readonly CopiedTable[]
  /** The location of the source. */
  source: string
  /** The rows of the source, by table. */
  rows: Readonly<Record<string, number>>
  /** Begin an unfinished copy again. */
  restart: boolean
}

/** Returns the mark of the copy that goes on, or that begins now. Runs inside the transaction of the preparation. */
async function prepareMark(target: Preparation, plan: CopyPlan): Promise<CopyMark> {
  const found = await readMark(target.tx, target.hasTable)
  if (found && !plan.restart) return continueCopy(target.location, found, plan)
  if (found) await clear(target.tx, plan.tables)
  else await assertEmpty(target, plan.tables)
  const tables = Object.entries(plan.rows).map(([name, total]) => [name, { total, copied: 0, after: [] }] as const)
  const mark = { source: plan.source, tables: Object.fromEntries(tables) }
  await createMark(target.tx, mark, target.dialect)
  return mark
}

function continueCopy(location: string, found: CopyMark, { source, rows }: CopyPlan): CopyMark {
  const refuse = (reason: string) =>
    new GatewayError('store_unavailable', `${reason} Use --restart to delete what was copied and begin again.`)
  if (found.source !== source) throw refuse(`${location} holds an unfinished copy of another store, ${found.source}.`)
  const changed = Object.entries(rows).find(([name, total]) => found.tables[name]?.total !== total)
  if (changed) throw refuse(`${source} has changed since its copy to ${location} was interrupted.`)
  return found
}

async function clear(tx: Transaction, tables: readonly CopiedTable[]): Promise<void> {
  for (const { name } of tables) await tx.run(`DELETE FROM ${name}`)
  await deleteMark(tx)
}

async function assertEmpty({ location, tx }: Preparation, tables: readonly CopiedTable[]): Promise<void> {
  await deleteOwnRows(tx)
  for (const { name } of tables) {
    const rows = await tx.all(`SELECT 1 FROM ${name} LIMIT 1`)
    if (rows.length === 0) continue
    throw new GatewayError(
      'store_unavailable',
      `${location} already holds data (table ${name}); give --to an empty database or a new file.`,
    )
  }
}
