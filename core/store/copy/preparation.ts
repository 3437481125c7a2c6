// Decides whether a store may become a copy: it must be empty, or an unfinished copy of the same source.
import { GatewayError } from '../../errors.ts'
import { deleteOwnRows } from '../tables/state.ts'
import type { Transaction } from '../transaction.ts'
import type { Preparation } from './end.ts'
import { type CopyMark, createMark, deleteMark, readMark } from './mark.ts'
import type { CopiedTable } from './tables.ts'

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
export async function prepareMark(target: Preparation, plan: CopyPlan): Promise<CopyMark> {
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
