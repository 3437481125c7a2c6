// Key-value state of the parts, and the probe that writes a row to see whether a write would be kept.
import type { Json } from '../plugin.ts'
import type { Store } from './store.ts'
import type { Transaction } from './transaction.ts'

const getSql = 'SELECT value FROM state WHERE part = ? AND key = ?'
const setSql = 'INSERT INTO state (part, key, value) VALUES (?, ?, ?) ON CONFLICT (part, key) DO UPDATE SET value = excluded.value'
const deleteSql = 'DELETE FROM state WHERE part = ? AND key = ?'

export async function getState(tx: Transaction, part: string, key: string): Promise<Json | undefined> {
  const [row] = await tx.all<{ value: string }>(getSql, part, key)
  return row && (JSON.parse(row.value) as Json)
}

export async function setState(tx: Transaction, ...[part, key, value]: Parameters<Store['setState']>): Promise<void> {
  await tx.run(setSql, part, key, JSON.stringify(value))
}

export async function deleteState(tx: Transaction, part: string, key: string): Promise<void> {
  await tx.run(deleteSql, part, key)
}

/** No part has an empty name, so this row is nobody's. */
export async function probe(tx: Transaction): Promise<void> {
  await tx.run(setSql, '', 'probe', 'true')
}
