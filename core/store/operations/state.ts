// Key-value state of extensions, and the probe, which writes a row to check that writes are committed.
import type { Json } from '../../plugin.ts'
import type { Store } from '../store.ts'
import type { Transaction } from '../transaction.ts'

const getSql = 'SELECT value FROM state WHERE owner = ? AND key = ?'
const setSql = `
  INSERT INTO state (owner, key, value) VALUES (?, ?, ?)
  ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value`
const deleteSql = 'DELETE FROM state WHERE owner = ? AND key = ?'

export async function getState(tx: Transaction, owner: string, key: string): Promise<Json | undefined> {
  const [row] = await tx.all<{ value: string }>(getSql, owner, key)
  return row && (JSON.parse(row.value) as Json)
}

export async function setState(tx: Transaction, ...[owner, key, value]: Parameters<Store['setState']>): Promise<void> {
  await tx.run(setSql, owner, key, JSON.stringify(value))
}

export async function deleteState(tx: Transaction, owner: string, key: string): Promise<void> {
  await tx.run(deleteSql, owner, key)
}

/** No owner has an empty name, so the row conflicts with nobody's state. */
export async function probe(tx: Transaction): Promise<void> {
  await tx.run(setSql, '', 'probe', 'true')
}
