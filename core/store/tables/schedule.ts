// Schedules are stored until they are removed or have fired for the last time. Each of their times fires once.
import type { RunSpec } from '../run-spec.ts'
import type { Timestamp, Transaction } from '../transaction.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { listPage, mapPage, type Page, type PageRequest } from './page.ts'

export const scheduleWrites = { addSchedule, removeSchedule, moveSchedule }
export const scheduleReads = { listAgentSchedules, listSchedules, listDueSchedules, getNextScheduleAt }

/** When a schedule fires: by a cron expression of five fields, at an interval, or once. */
export type Timing =
  | { kind: 'cron'; expression: string; timezone?: string | undefined }
  | { kind: 'every'; ms: number }
  | { kind: 'at'; at: Timestamp }

export interface NewSchedule {
  id: string
  agentId: string
  name: string
  timing: Timing
  /** What each of its runs does. */
  spec: RunSpec
  nextAt: Timestamp
}

export interface StoredSchedule extends NewSchedule {
  /** The time for which it last fired. */
  lastAt: Timestamp | null
  createdAt: Timestamp
}

/** One firing of a schedule for the time `due`. `nextAt` is the time of the next one; null: this is the last. */
export interface Firing {
  scheduleId: string
  due: Timestamp
  nextAt: Timestamp | null
}

/** Counts and inserts in one statement, so that two callers cannot exceed the limit together. */
const insertSql = `
  INSERT INTO schedule (id, agent_id, name, timing, spec, next_at, created_at)
  SELECT ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM schedule WHERE agent_id = ?) < ?`

/** @returns false when the agent already has `most` schedules */
export async function addSchedule(
  tx: Transaction,
  { id, agentId, name, timing, spec, nextAt }: NewSchedule,
  { at, most, audit }: { at: Timestamp; most: number; audit?: AuditedChange | undefined },
): Promise<boolean> {
  const [timingJson, specJson] = [JSON.stringify(timing), JSON.stringify(spec)]
  const values = [id, agentId, name, timingJson, specJson, nextAt, at, agentId, most]
  if ((await tx.run(insertSql, ...values)) === 0) return false
  await recordChange(tx, audit, at)
  return true
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

/** All schedules of an agent, oldest first. */
export async function listAgentSchedules(tx: Transaction, agentId: string): Promise<StoredSchedule[]> {
  return (await tx.all<ScheduleRow>(ofAgentSql, agentId)).map(toSchedule)
}

interface ScheduleFilter {
  agentId?: string | undefined
  /** Only schedules of these agents. */
  agents?: readonly string[] | undefined
}

/** A page of schedules, newest first. */
export async function listSchedules(
  tx: Transaction,
  { agentId, agents }: ScheduleFilter,
  page: PageRequest,
): Promise<Page<StoredSchedule>> {
  const listing = {
    table: 'schedule',
    keys: 'seq, agent_id AS "agentId"',
    where: agentId === undefined ? undefined : (['agent_id = ?', agentId] as const),
    matchesKey: agents && ((key: { seq: number; agentId: string }) => agents.includes(key.agentId)),
    columns,
    sizeOf: ({ spec }: ScheduleRow) => spec.length,
  }
  return mapPage(await listPage(tx, listing, page), toSchedule)
}

/** Schedules that are due, the oldest time first. The caller fires each of them with `accept`. */
export async function listDueSchedules(tx: Transaction, at: Timestamp, limit: number): Promise<StoredSchedule[]> {
  return (await tx.all<ScheduleRow>(dueSql, at, limit)).map(toSchedule)
}

/** The time when the next schedule fires. */
export async function getNextScheduleAt(tx: Transaction): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ nextAt: number }>(nextSql)
  return row?.nextAt
}

/** @returns false when the agent has no such schedule */
export async function removeSchedule(
  tx: Transaction,
  id: string,
  agentId: string,
  audit?: { at: Timestamp; change: AuditedChange },
): Promise<boolean> {
  if ((await tx.run('DELETE FROM schedule WHERE id = ? AND agent_id = ?', id, agentId)) === 0) return false
  if (audit) await recordChange(tx, audit.change, audit.at)
  return true
}

/** Changes the next time of a schedule. @returns false when it has fired since or does not exist */
export async function moveSchedule(
  tx: Transaction,
  id: string,
  { from, to }: { from: Timestamp; to: Timestamp },
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
