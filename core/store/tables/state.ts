// Key-value state of extensions, and the probe, which writes a row to check that writes are committed.
import type { Json } from '../../plugin.ts'
import type { Insertion, Row, Transaction } from '../transaction.ts'

/** The operations of the store in this file. */
export const stateWrites = { setState, deleteState, probe }
export const stateReads = { getState }

const getSql = 'SELECT value FROM state WHERE owner = ? AND key = ?'
export const stateInsertion: Insertion = {
  table: 'state',
  columns: { owner: 'text', key: 'text', value: 'text' },
  onConflict: 'ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value',
  keyColumns: 2,
}

export const toStateRow = (owner: string, key: string, value: Json): Row => [owner, key, JSON.stringify(value)]

const deleteSql = 'DELETE FROM state WHERE owner = ? AND key = ?'

export async function getState(tx: Transaction, owner: string, key: string): Promise<Json | undefined> {
  const [row] = await tx.all<{ value: string }>(getSql, owner, key)
  return row && (JSON.parse(row.value) as Json)
}

export async function setState(tx: Transaction, owner: string, key: string, value: Json): Promise<void> {
  await tx.insert(stateInsertion, [toStateRow(owner, key, value)])
}

export async function deleteState(tx: Transaction, owner: string, key: string): Promise<void> {
  await tx.run(deleteSql, owner, key)
}

/**
 * Resolves when a write would be committed. Rejects with `store_unavailable` if not. No owner has an empty name, so the
 * row conflicts with nobody's state.
 */
export async function probe(tx: Transaction): Promise<void> {
  await tx.insert(stateInsertion, [['', 'probe', 'true']])
}
