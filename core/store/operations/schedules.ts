// Schedules are stored until they are removed or have fired for the last time. Each of their times fires once.
import type { RunSpec } from '../run-spec.ts'
import type { Firing, NewSchedule, Page, Store, StoredSchedule, Timestamp, Timing } from '../store.ts'
import type { Transaction } from '../transaction.ts'

/** Counts and inserts in one statement, so that two callers cannot exceed the limit together. */
const insertSql = `
  INSERT INTO schedule (id, agent_id, name, timing, spec, next_at, created_at)
  SELECT ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM schedule WHERE agent_id = ?) < ?`

export async function addSchedule(
  tx: Transaction,
  { id, agentId, name, timing, spec, nextAt }: NewSchedule,
  { at, most }: { at: Timestamp; most: number },
): Promise<boolean> {
  const [timingJson, specJson] = [JSON.stringify(timing), JSON.stringify(spec)]
  return (await tx.run(insertSql, id, agentId, name, timingJson, specJson, nextAt, at, agentId, most)) === 1
}

interface ScheduleRow extends Omit<StoredSchedule, 'timing' | 'spec'> {
  timing: string
  spec: string
}

const columns = `
  id, agent_id AS "agentId", name, timing, spec, next_at AS "nextAt", last_at AS "lastAt", created_at AS "createdAt"`
const toSchedule = (row: ScheduleRow): StoredSchedule => ({
  ...row,
  timing: JSON.parse(row.timing) as Timing,
  spec: JSON.parse(row.spec) as RunSpec,
})

const ofAgentSql = `SELECT ${columns} FROM schedule WHERE agent_id = ? ORDER BY seq`
const dueSql = `SELECT ${columns} FROM schedule WHERE next_at <= ? ORDER BY next_at LIMIT ?`
const nextSql = 'SELECT next_at AS "nextAt" FROM schedule ORDER BY next_at LIMIT 1'

export async function listAgentSchedules(tx: Transaction, agentId: string): Promise<StoredSchedule[]> {
  return (await tx.all<ScheduleRow>(ofAgentSql, agentId)).map(toSchedule)
}

const pageSql = `SELECT seq, ${columns} FROM schedule WHERE seq < ? ORDER BY seq DESC LIMIT ?`
const pageOfAgentSql = `SELECT seq, ${columns} FROM schedule WHERE agent_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`

export async function listSchedules(
  tx: Transaction,
  ...[{ agentId }, page]: Parameters<Store['listSchedules']>
): Promise<Page<StoredSchedule>> {
  const { before = Number.MAX_SAFE_INTEGER, limit } = page
  const rows =
    agentId === undefined
      ? await tx.all<NumberedRow>(pageSql, before, limit)
      : await tx.all<NumberedRow>(pageOfAgentSql, agentId, before, limit)
  const last = rows.length === limit ? rows.at(-1) : undefined
  return { items: rows.map(({ seq: _seq, ...row }) => toSchedule(row)), ...(last && { next: last.seq }) }
}

type NumberedRow = ScheduleRow & { seq: number }

export async function listDueSchedules(tx: Transaction, at: Timestamp, limit: number): Promise<StoredSchedule[]> {
  return (await tx.all<ScheduleRow>(dueSql, at, limit)).map(toSchedule)
}

export async function getNextScheduleAt(tx: Transaction): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ nextAt: number }>(nextSql)
  return row?.nextAt
}

export async function removeSchedule(
  tx: Transaction,
  ...[id, agentId]: Parameters<Store['removeSchedule']>
): Promise<boolean> {
  return (await tx.run('DELETE FROM schedule WHERE id = ? AND agent_id = ?', id, agentId)) === 1
}

export async function moveSchedule(
  tx: Transaction,
  ...[id, { from, to }]: Parameters<Store['moveSchedule']>
): Promise<boolean> {
  return (await tx.run('UPDATE schedule SET next_at = ? WHERE id = ? AND next_at = ?', to, id, from)) === 1
}

const advanceSql = 'UPDATE schedule SET next_at = ?, last_at = ? WHERE id = ? AND next_at = ?'
const deleteSql = 'DELETE FROM schedule WHERE id = ? AND next_at = ?'

/** Advances a schedule past the time `due`. @returns false when it has fired for that time before or does not exist */
export async function advanceSchedule(tx: Transaction, { scheduleId, due, nextAt }: Firing): Promise<boolean> {
  const changed =
    nextAt === null ? await tx.run(deleteSql, scheduleId, due) : await tx.run(advanceSql, nextAt, due, scheduleId, due)
  return changed === 1
}
