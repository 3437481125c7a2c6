// Keeps gateways away from a PostgreSQL store while it is copied, and copies away from a store that gateways use.
import { GatewayError } from '../../errors.ts'
import { assertFinished } from '../copy/mark.ts'
import type { Transaction } from '../transaction.ts'
import { hasTable, lockNumberOf } from './migrate.ts'

/** Throws if no gateway may start on the store. Called inside the transaction that migrates it. */
export async function assertUsable(tx: Transaction, storeId: number): Promise<void> {
  await assertFinished(tx, hasTable)
  const [lock] = await tx.all<{ isFree: boolean }>(sharedCopyLockSql, lockNumberOf(storeId))
  if (lock?.isFree) return
  throw new GatewayError(
    'store_unavailable',
    'The store is being copied by "svc-gateway store migrate"; start the gateway again when that has ended.',
  )
}

/** The number 0 belongs to the lock that all writes share. */
const sharedCopyLockSql = 'SELECT pg_try_advisory_xact_lock_shared(?, 1) AS "isFree"'
const copyLockSql = 'SELECT pg_try_advisory_lock(?, 1) AS "isFree"'
const writeLockSql = 'SELECT pg_advisory_lock(?, 0)'

/**
 * Takes the store for the rest of the connection: nobody else can write to it. Throws if a gateway runs on it, which
 * always holds a lease, or if another copy is under way.
 */
export async function lockForCopy(tx: Transaction, { storeId, location }: { storeId: number; location: string }) {
  const isUsed = new GatewayError(
    'store_unavailable',
    `The store ${location} is in use; stop all gateways and other copies of it. A gateway that was killed counts as ` +
      'running for 15 seconds.',
  )
  // First without the lock of writes, so that running gateways notice nothing.
  if (await hasRunningGateway(tx)) throw isUsed
  const [lock] = await tx.all<{ isFree: boolean }>(copyLockSql, lockNumberOf(storeId))
  if (!lock?.isFree) throw isUsed
  await tx.all(writeLockSql, lockNumberOf(storeId))
  if (await hasRunningGateway(tx)) throw isUsed
}

/** One of the gateways always holds a lease, for the heartbeat. Leases use the clock of the database. */
const leaseSql = `
  SELECT 1 FROM lease WHERE until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint LIMIT 1`

const hasRunningGateway = async (tx: Transaction): Promise<boolean> => (await tx.all(leaseSql)).length > 0
