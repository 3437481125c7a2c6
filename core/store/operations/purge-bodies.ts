// Deleting the bodies of old requests, which may hold what nobody should keep for long; the requests themselves stay.
import type { ForgetBodiesStep, ForgottenBodies, Timestamp } from '../store.ts'
import type { Transaction } from './transaction.ts'

/**
 * What one step looks at, and how much text it deletes at most: the writes of the moment wait no longer than this
 * takes.
 */
const rowsAtOnce = 200
const bytesAtOnce = 2 * 1024 * 1024

interface Row {
  seq: number
  at: Timestamp
  awaited: number
  /** Known without reading the body. */
  size: number
}

const windowSql =
  'SELECT seq, at, awaited, coalesce(octet_length(body), 0) AS size FROM request WHERE seq > ? ORDER BY seq LIMIT ?'
const purgeSql = 'UPDATE request SET body = NULL WHERE seq > ? AND seq <= ? AND awaited = 0 AND body IS NOT NULL'

export async function forgetBodies(tx: Transaction, { before, from = 0 }: ForgetBodiesStep): Promise<ForgottenBodies> {
  const rows = await tx.all<Row>(windowSql, from, rowsAtOnce)
  let room = bytesAtOnce
  const young = rows.findIndex(({ at }) => at >= before)
  const old = young === -1 ? rows : rows.slice(0, young)
  const full = old.findIndex(({ size }) => (room -= size) <= 0)
  const taken = full === -1 ? old : old.slice(0, full + 1)
  const last = taken.at(-1)?.seq ?? from
  return {
    count: await tx.run(purgeSql, from, last),
    last,
    more: taken.length < old.length || old.length === rowsAtOnce,
    complete: taken.every(({ awaited }) => awaited === 0),
  }
}
