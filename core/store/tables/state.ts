// Key-value state of extensions, and rows of the store's own: its secret, and the row that a probe writes.
import { readJson } from '../../json.ts'
import type { Json } from '../../plugin/plugin.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'

export const stateWrites = { setState, deleteState }
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
  return row && (readJson(row.value) as Json)
}

export async function setState(
  tx: Transaction,
  owner: string,
  key: string,
  value: Json,
  audit?: { at: Timestamp; change: AuditedChange },
): Promise<void> {
  await tx.insert(stateInsertion, [toStateRow(owner, key, value)])
  if (audit) await recordChange(tx, audit.change, audit.at)
}

export async function deleteState(tx: Transaction, owner: string, key: string): Promise<void> {
  await tx.run(deleteSql, owner, key)
}

/** The owner of the store's own rows. No extension has an empty name. */
const own = ''

export const writeProbeRow = (tx: Transaction): unknown => tx.insert(stateInsertion, [[own, 'probe', 'true']])

const createSecretSql = `
  INSERT INTO state (owner, key, value) VALUES ('${own}', 'secret', ?) ON CONFLICT (owner, key) DO NOTHING`

/** Returns the secret that the gateways on this store share: the `fresh` one of the first call. */
export async function readSecret(tx: Transaction, fresh: string): Promise<string> {
  await tx.run(createSecretSql, JSON.stringify(fresh))
  return (await getState(tx, own, 'secret')) as string
}

/** Deletes what a gateway that was started on an empty store has left in it. */
export async function deleteOwnRows(tx: Transaction): Promise<void> {
  await tx.run(`DELETE FROM state WHERE owner = '${own}'`)
}
