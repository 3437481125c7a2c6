// Leases: only one owner may hold a lease, and its fencing token grows whenever the owner changes.
import type { Timestamp, Transaction } from '../transaction.ts'

export const leaseWrites = { acquireLease, releaseLease, expireLeases }

/**
 * The next fencing token of a row: the time of the claim, or the number after the last token if that is larger. Its
 * placeholders take the time twice. A database that lost its last commits, because a standby took over or it was restored,
 * would count up to tokens that it has already given away.
 */
export const nextToken = 'CASE WHEN fencing_token < ? THEN ? ELSE fencing_token + 1 END'

export interface LeaseGrant {
  fencingToken: number
}

const acquireSql = `
  INSERT INTO lease (name, owner, fencing_token, until) VALUES (?, ?, 1, ?)
  ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner, until = excluded.until,
    fencing_token = lease.fencing_token + CASE WHEN lease.owner = excluded.owner AND lease.until > ? THEN 0 ELSE 1 END
  WHERE lease.owner = excluded.owner OR lease.until <= ?
  RETURNING fencing_token AS "fencingToken"`

/** Acquires or renews a lease that only one owner may hold. Undefined while another owner holds it. */
export async function acquireLease(
  tx: Transaction,
  name: string,
  owner: string,
  at: Timestamp,
  until: Timestamp,
): Promise<LeaseGrant | undefined> {
  const [row] = await tx.all<{ fencingToken: number }>(acquireSql, name, owner, until, at, at)
  return row && { fencingToken: row.fencingToken }
}

/** Keeps the row, so that the fencing token continues to grow. */
const releaseSql = 'UPDATE lease SET until = 0 WHERE name = ? AND owner = ?'

export async function releaseLease(tx: Transaction, name: string, owner: string): Promise<void> {
  await tx.run(releaseSql, name, owner)
}

/**
 * Expires every lease, so that nothing waits for a timeout. Only safe when all owners are known to be dead, such as
 * the previous process of an embedded store.
 */
export async function expireLeases(tx: Transaction): Promise<void> {
  await tx.run(`UPDATE run SET lease_until = 0 WHERE status = 'running'`)
  await tx.run(`UPDATE outbox SET lease_until = 0 WHERE status = 'sending'`)
  await tx.run('UPDATE lease SET until = 0 WHERE until > 0')
  // The callers of these calls were connected to that process.
  await tx.run(`UPDATE approval SET awaited_until = 0 WHERE status = 'waiting' AND awaited_until IS NOT NULL`)
}
