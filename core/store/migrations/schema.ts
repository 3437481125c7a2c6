// Migrations: the list of all, and how a database gets those that it has not had yet.
import { GatewayError } from '../../errors.ts'
import { firstTables } from './001-first-tables.ts'
import { runRetries } from './002-run-retries.ts'
import { eventAgent } from './003-event-agent.ts'
import { exposure } from './004-exposure.ts'
import { useFieldTerms } from './005-field-terms.ts'
import { deliveryFile } from './006-delivery-file.ts'
import { eventRequest } from './007-event-request.ts'
import { retryProvider } from './008-retry-provider.ts'
import { convertProgress, steps } from './009-steps.ts'
import type { Dialect } from './dialect.ts'
import type { Transaction } from '../transaction.ts'

export interface Migration {
  name: string
  statements: (dialect: Dialect) => string[]
  /** Changes rows where a statement does not suffice. */
  convert?(tx: Transaction): Promise<void>
}

/** In order. A released migration never changes; a later one corrects it. */
export const migrations: readonly Migration[] = [
  { name: '001-first-tables', statements: firstTables },
  { name: '002-run-retries', statements: runRetries },
  { name: '003-event-agent', statements: eventAgent },
  { name: '004-exposure', statements: exposure },
  { name: '005-field-terms', statements: useFieldTerms },
  { name: '006-delivery-file', statements: deliveryFile },
  { name: '007-event-request', statements: eventRequest },
  { name: '008-retry-provider', statements: retryProvider },
  { name: '009-steps', statements: steps, convert: convertProgress },
]

/** The version of the tables that this program works with. */
export const newestVersion = migrations.length

/** Throws if a newer version of the gateway created the tables. */
export function assertKnown(version: number, newest: number): void {
  if (version <= newest) return
  throw new GatewayError(
    'store_unavailable',
    `The store has tables of version ${version}, but this program knows them only up to version ${newest}; ` +
      'start the newer program that wrote it, or restore the copy that was made before its migration.',
  )
}

/** Migrates tables of `version` (0: none exist) to the newest one. Runs inside one transaction. */
export async function migrate(
  tx: Transaction,
  { version, steps: all, dialect }: { version: number; steps: readonly Migration[]; dialect: Dialect },
): Promise<void> {
  const { integer, text, table } = dialect
  if (version === 0)
    await tx.run(`CREATE TABLE migration (version ${integer} NOT NULL PRIMARY KEY, name ${text} NOT NULL)${table}`)
  for (const [index, { name, statements, convert }] of all.entries()) {
    if (index < version) continue
    for (const statement of statements(dialect)) await tx.run(statement)
    await convert?.(tx)
    await tx.run('INSERT INTO migration (version, name) VALUES (?, ?)', index + 1, name)
  }
}
