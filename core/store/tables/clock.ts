// Keeps what waits for a time from waiting longer when the clock is set back.
import type { Timestamp, Transaction } from '../transaction.ts'

export const clockWrites = { setTimesBack }

/**
 * The times that rows wait for, with the condition of the index that finds them. Not here: schedules, which are planned
 * anew by the new clock (a requested time of day stays that time of day), keys of requests, which may be kept longer, and
 * budgets, whose windows are those of the calendar. `isRetry`: to be too early does no harm.
 */
const waits = [
  { table: 'event', column: 'retry_at', where: 'run_id IS NULL', isRetry: true },
  { table: 'run', column: 'not_before', where: `status = 'queued' AND waits_for IS NULL`, isRetry: true },
  { table: 'run', column: 'deadline', where: `status = 'queued'` },
  { table: 'run', column: 'lease_until', where: `status = 'running'` },
  { table: 'outbox', column: 'next_at', where: `status = 'pending'`, isRetry: true },
  { table: 'outbox', column: 'lease_until', where: `status = 'sending'` },
  { table: 'approval', column: 'expires_at', where: `status = 'waiting'` },
  { table: 'approval', column: 'awaited_until', where: `status = 'waiting'` },
  { table: 'lease', column: 'until', where: 'until > 0' },
] as const

const keyOf = (table: string): string => (table === 'lease' ? 'name' : 'seq')

/** What was stored before the change. A time that was over by then is found to be over now. */
const setBackSql = waits.map(({ table, column, where, ...wait }) => {
  const key = keyOf(table)
  const beyond = `${key} IN (SELECT ${key} FROM ${table} WHERE ${where} AND ${column} > ?)`
  return {
    sql: `UPDATE ${table} SET ${column} = CASE WHEN ${column} - ? < ? THEN ? ELSE ${column} - ? END WHERE ${beyond}`,
    isRetry: 'isRetry' in wait,
  }
})

const latestSql = `
  SELECT at FROM request WHERE seq = (SELECT max(seq) FROM request)
  UNION ALL SELECT created_at AS at FROM run WHERE seq = (SELECT max(seq) FROM run)
  UNION ALL SELECT created_at AS at FROM outbox WHERE seq = (SELECT max(seq) FROM outbox)`

/** A smaller change is the work of a time service, and nobody notices it. */
export const notableMs = 2_000

/**
 * Sets the times for which something waits back by as much as the clock. `ms` absent: by as much as the newest record is
 * ahead of the clock, which may have been set back while no gateway ran.
 * @returns by how many milliseconds; 0 if the clock is right
 */
async function setTimesBack(tx: Transaction, at: Timestamp, ms?: number): Promise<number> {
  const by = ms ?? (await measureLead(tx, at))
  if (by < notableMs) return 0
  // A lease or a question that is newer than the change must not end early.
  for (const { sql, isRetry } of setBackSql) await tx.run(sql, by, at, at, by, isRetry ? at : at + by)
  await setCodesBack(tx, at, by)
  return by
}

async function measureLead(tx: Transaction, at: Timestamp): Promise<number> {
  const latest = await tx.all<{ at: Timestamp }>(latestSql)
  return Math.max(at, ...latest.map((row) => row.at)) - at
}

const codesSql = `SELECT key, value FROM state WHERE owner = 'pairing'`
const setCodesSql = `UPDATE state SET value = ? WHERE owner = 'pairing' AND key = ?`

/** The codes of senders are valid for a time that begins when they are made. */
async function setCodesBack(tx: Transaction, at: Timestamp, by: number): Promise<void> {
  for (const { key, value } of await tx.all<{ key: string; value: string }>(codesSql)) {
    const pairings = JSON.parse(value) as { pending?: { at: Timestamp }[] }
    const pending = pairings.pending?.map((one) => (one.at > at ? { ...one, at: one.at - by } : one))
    await tx.run(setCodesSql, JSON.stringify({ ...pairings, ...(pending && { pending }) }), key)
  }
}
