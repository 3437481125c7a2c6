// The two ends of a copy. Each engine has one kind of end.
import { GatewayError } from '../../errors.ts'
import { assertKnown, type Dialect, type HasTable } from '../migrations/migrate.ts'
import { newestVersion } from '../migrations/migrations.ts'
import type { Transaction } from '../transaction.ts'
import { assertFinished } from './mark.ts'
import type { CopiedTable, Row } from './tables.ts'

export interface CopyEnd {
  /** Opens the store for reading, also while gateways use it. Undefined: there is no store. */
  openReader(): Promise<StoreReader | undefined>
  /** Opens the store for reading, and keeps everybody else from writing to it. */
  openSource(): Promise<StoreReader>
  /** Creates the store if necessary, and opens it for this process alone. If `prepare` throws, nothing was changed. */
  openTarget(prepare: (target: Preparation) => Promise<void>): Promise<StoreWriter>
}

export interface StoreReader {
  /** Where the store is, without credentials. */
  location: string
  /** Each statement is a transaction by itself. */
  tx: Transaction
  /** The number of migrations that its tables have had. */
  version: number
  hasTable: HasTable
  close(): Promise<void>
}

export interface StoreWriter extends Omit<StoreReader, 'version'> {
  /** Runs `work` in one transaction. Resolves when its changes are on disk. */
  transact<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>
  insertRows(tx: Transaction, table: CopiedTable, rows: readonly Row[]): Promise<void>
  /** Prepares a table that has all of its rows for use. */
  completeTable(tx: Transaction, table: CopiedTable): Promise<void>
}

export interface Preparation {
  location: string
  /** The transaction of the preparation. */
  tx: Transaction
  hasTable: HasTable
  dialect: Dialect
}

/** Throws if the store cannot be a source. */
export async function assertComplete({ location, tx, version, hasTable }: StoreReader): Promise<void> {
  assertKnown(version, newestVersion)
  if (version < newestVersion)
    throw new GatewayError(
      'store_unavailable',
      `The store ${location} has tables of an older version; start this version of the gateway on it once, which ` +
        'upgrades them, stop it, and run the command again.',
    )
  await assertFinished(tx, hasTable)
}

export const noStore = (location: string): GatewayError =>
  new GatewayError('store_unavailable', `There is no store at ${location}; no gateway has been started on it.`)
