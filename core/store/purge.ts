// Purges what is old, the oldest first and a few rows per step, and returns free space to the disk. Live records, and
// records that those need, stay.
import type { SessionPosition } from './tables/session-list.ts'
import type { Space, Timestamp, Transaction } from './transaction.ts'

export const purgeWrites = { purge, purgeBodies, purgeStepContents, purgeAudit, reclaimSpace }
export const purgeReads = { getSpace }

/** The kinds of records that are purged. Sessions are purged only if no caller has named them. */
export type Purgeable = 'requests' | 'runs' | 'deliveries' | 'events' | 'sessions'

/** The last row of each kind that a step read. */
export interface PurgePositions extends Record<Exclude<Purgeable, 'sessions'>, number> {
  sessions: Omit<SessionPosition, 'run'>
}

export interface PurgeStep {
  /** Only records that ended before this time are purged. */
  before: Timestamp
  /** Where the previous step ended; absent: the step starts with the oldest records. */
  from?: PurgePositions | undefined
}

export interface PurgeResult {
  counts: Record<Purgeable, number>
  /** Where the next step starts; absent when no record older than `before` is left. */
  next?: PurgePositions
}

interface PurgeContentsStep {
  /** Only contents of rows that were inserted before this time are deleted. */
  before: Timestamp
  /** The last row that the previous step read; absent: the step starts with the oldest row. */
  from?: number | undefined
}

interface PurgedContents {
  /** How many rows have lost their contents. */
  count: number
  /** The last row that the step read. */
  last: number
  /** Whether there may be further rows older than `before`. */
  more: boolean
  /** False: some of these rows keep their contents for now, or may still get some. */
  complete: boolean
}

/** The most rows of a table, and bytes of their texts, in one step, so that it does not delay accepts for long. */
const maxRows = 200
const maxBytes = 2 * 1024 * 1024

interface Table {
  name: string
  /** When a row was inserted. Grows with `seq`, so that `seq` serves as the index. */
  at: string
  /** The size of the row's texts, which SQLite knows without reading them. */
  size: string
  /** Whether a row had ended before a time. */
  isOver: string
}

type TableKind = Exclude<Purgeable, 'sessions'>

const tables: Record<TableKind, Table> = {
  // The text of a wake is only in its request until a turn has rendered it.
  requests: { name: 'request', at: 'at', size: 'coalesce(octet_length(body), 0)', isOver: 'at < ? AND awaited = 0' },
  runs: {
    name: 'run',
    at: 'created_at',
    size: `octet_length(spec) + octet_length(message) + octet_length(result) + coalesce((
      SELECT sum(octet_length(detail) + coalesce(octet_length(content), 0)) FROM step WHERE run_id = run.id), 0)`,
    isOver: `ended_at < ?
      AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = run.id AND outbox.status IN ('pending', 'sending'))`,
  },
  deliveries: {
    name: 'outbox',
    at: 'created_at',
    size: 'octet_length(text)',
    isOver: `coalesce(ended_at, created_at) < ? AND status NOT IN ('pending', 'sending')`,
  },
  events: { name: 'event', at: 'at', size: 'coalesce(octet_length(text), 0)', isOver: 'rendered_at < ?' },
}

const kinds = Object.keys(tables) as TableKind[]

const oldest: PurgePositions = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: { updatedAt: 0, key: '' } }

/** The rows of one table that a step may delete. */
interface Window {
  last: number
  /** When the last of them was inserted; Infinity: no rows follow. */
  reach: Timestamp
}

/**
 * Deletes a few of the oldest records of each kind, all kinds up to the same time. Kept are live records, requests
 * whose body holds the text of a waiting event, runs with deliveries that are not sent yet, and sessions that a
 * caller has named.
 */
export async function purge(tx: Transaction, { before, from = oldest }: PurgeStep): Promise<PurgeResult> {
  const windows = {} as Record<TableKind, Window>
  for (const kind of kinds) windows[kind] = await readWindow(tx, tables[kind], from[kind])
  const sessions = await readSessionWindow(tx, from.sessions)

  // All tables advance to the same time, so that no record is deleted while an older one is left.
  const reach = Math.min(sessions.reach, ...Object.values(windows).map((window) => window.reach))
  const until = Math.min(reach, before - 1)
  const counts = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0 }
  const next = { ...from }
  for (const kind of kinds) {
    const range = [from[kind], windows[kind].last, until] as const
    next[kind] = await findLast(tx, tables[kind], range)
    if (kind === 'runs') for (const sql of ofRunsSql) await tx.run(sql, ...range, before)
    if (kind === 'deliveries') await tx.run(ofDeliveriesSql, ...range, before)
    counts[kind] = await tx.run(deleteSql(tables[kind]), ...range, before)
  }
  await tx.run(purgeApprovalsSql, until)
  next.sessions = sessions.rows.findLast(({ updatedAt }) => updatedAt <= until) ?? from.sessions
  counts.sessions = await purgeSessions(tx, [from.sessions, next.sessions])
  return reach < before ? { counts, next } : { counts }
}

const windowSql = ({ name, size }: Table) =>
  `SELECT seq, ${size} AS size FROM ${name} WHERE seq > ? ORDER BY seq LIMIT ?`
const atSql = ({ name, at }: Table) => `SELECT ${at} AS at FROM ${name} WHERE seq = ?`

async function readWindow(tx: Transaction, table: Table, from: number): Promise<Window> {
  const rows = await tx.all<{ seq: number; size: number }>(windowSql(table), from, maxRows)
  let bytesLeft = maxBytes
  const last = rows.find(({ size }) => (bytesLeft -= size) <= 0) ?? (rows.length === maxRows ? rows.at(-1) : undefined)
  if (!last) return { last: Number.MAX_SAFE_INTEGER, reach: Infinity }
  const [row] = await tx.all<{ at: Timestamp }>(atSql(table), last.seq)
  return { last: last.seq, reach: row?.at ?? Infinity }
}

type Range = readonly [from: number, last: number, until: Timestamp]

const isInRange = ({ at }: Table) => `seq > ? AND seq <= ? AND ${at} <= ?`
const lastSql = (table: Table) => `SELECT max(seq) AS seq FROM ${table.name} WHERE ${isInRange(table)}`
const deleteSql = (table: Table) => `DELETE FROM ${table.name} WHERE ${isInRange(table)} AND ${table.isOver}`
/** Deletes what belongs to the runs that are about to be deleted. */
const ofRunsSql = ['exposure WHERE scope', 'step WHERE run_id', 'approval WHERE run_id'].map(
  (column) => `DELETE FROM ${column} IN (SELECT id FROM run WHERE ${isInRange(tables.runs)} AND ${tables.runs.isOver})`,
)

/** Deletes what belongs to the deliveries that are about to be deleted. */
const ofDeliveriesSql = `DELETE FROM sent_message WHERE delivery IN (
  SELECT seq FROM outbox WHERE ${isInRange(tables.deliveries)} AND ${tables.deliveries.isOver})`

/** Of calls that no run makes. */
const purgeApprovalsSql = `DELETE FROM approval WHERE run_id = '' AND expires_at <= ? AND status <> 'waiting'`

async function findLast(tx: Transaction, table: Table, range: Range): Promise<number> {
  const [row] = await tx.all<{ seq: number | null }>(lastSql(table), ...range)
  return row?.seq ?? range[0]
}

type SessionCursor = PurgePositions['sessions']

const sessionsSql = `
  SELECT updated_at AS "updatedAt", key FROM session
  WHERE (updated_at, key) > (?, ?) ORDER BY updated_at, key LIMIT ?`

async function readSessionWindow(
  tx: Transaction,
  { updatedAt, key }: SessionCursor,
): Promise<{ rows: SessionCursor[]; reach: Timestamp }> {
  const rows = await tx.all<SessionCursor>(sessionsSql, updatedAt, key, maxRows)
  return { rows, reach: rows.length === maxRows ? (rows.at(-1)?.updatedAt ?? Infinity) : Infinity }
}

/** Sessions that no caller has named and in which nothing waits or runs. */
const unusedSql = `
  SELECT key FROM session
  WHERE (updated_at, key) > (?, ?) AND (updated_at, key) <= (?, ?) AND unnamed = 1
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.session_key = session.key AND run.status IN ('queued', 'running'))
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.session_key = session.key AND run.status = 'waiting')
    AND NOT EXISTS (SELECT 1 FROM event WHERE event.session_key = session.key AND event.run_id IS NULL)`

async function purgeSessions(tx: Transaction, [from, to]: readonly [SessionCursor, SessionCursor]): Promise<number> {
  const unused = await tx.all<{ key: string }>(unusedSql, from.updatedAt, from.key, to.updatedAt, to.key)
  for (const { key } of unused) {
    await tx.run('DELETE FROM transcript WHERE session_key = ?', key)
    await tx.run('DELETE FROM session WHERE key = ?', key)
  }
  return unused.length
}

interface TimedRow {
  seq: number
  at: Timestamp
}

/** The first of these rows, which are in the order of their insertion, that are older than a time. */
function takeOlder<Row extends TimedRow>(rows: readonly Row[], before: Timestamp): readonly Row[] {
  const firstRecent = rows.findIndex(({ at }) => at >= before)
  return firstRecent === -1 ? rows : rows.slice(0, firstRecent)
}

interface BodyRow extends TimedRow {
  awaited: number
  size: number
}

const bodiesSql = `
  SELECT seq, at, awaited, coalesce(octet_length(body), 0) AS size FROM request WHERE seq > ? ORDER BY seq LIMIT ?`
const purgeBodiesSql = 'UPDATE request SET body = NULL WHERE seq > ? AND seq <= ? AND awaited = 0 AND body IS NOT NULL'

/**
 * Deletes the bodies of a few of the oldest requests. The requests stay, and so do bodies that hold the text of a
 * waiting event.
 */
export async function purgeBodies(tx: Transaction, { before, from = 0 }: PurgeContentsStep): Promise<PurgedContents> {
  const rows = await tx.all<BodyRow>(bodiesSql, from, maxRows)
  const old = takeOlder(rows, before)
  let bytesLeft = maxBytes
  const full = old.findIndex(({ size }) => (bytesLeft -= size) <= 0)
  const purged = full === -1 ? old : old.slice(0, full + 1)
  const last = purged.at(-1)?.seq ?? from
  return {
    count: await tx.run(purgeBodiesSql, from, last),
    last,
    more: purged.length < old.length || old.length === maxRows,
    complete: purged.every(({ awaited }) => awaited === 0),
  }
}

const stepsSql = `
  SELECT seq, started_at AS at, ended_at AS "endedAt" FROM step WHERE seq > ? ORDER BY seq LIMIT ?`
const purgeContentsSql = 'UPDATE step SET content = NULL WHERE seq > ? AND seq <= ? AND content IS NOT NULL'
/** The arguments of calls that are still to be made stay. */
const purgeArgsSql = `
  UPDATE approval SET args = NULL
  WHERE args IS NOT NULL AND answered_at < ?
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = approval.run_id AND run.ended_at IS NULL)`

/**
 * Deletes what was said in a few of the oldest steps; the steps themselves stay as long as their run. The last step also
 * deletes the arguments of calls that were approved or denied before the time.
 */
export async function purgeStepContents(
  tx: Transaction,
  { before, from = 0 }: PurgeContentsStep,
): Promise<PurgedContents> {
  const rows = await tx.all<TimedRow & { endedAt: Timestamp | null }>(stepsSql, from, maxRows)
  const old = takeOlder(rows, before)
  const last = old.at(-1)?.seq ?? from
  if (rows.length < maxRows) await tx.run(purgeArgsSql, before)
  return {
    count: await tx.run(purgeContentsSql, from, last),
    last,
    more: old.length === maxRows,
    complete: old.every(({ endedAt }) => endedAt !== null),
  }
}

const entriesSql = 'SELECT seq, at FROM audit WHERE seq > 0 ORDER BY seq LIMIT ?'

/** Deletes a few of the oldest entries of the audit log. */
export async function purgeAudit(
  tx: Transaction,
  { before }: { before: Timestamp },
): Promise<{ count: number; more: boolean }> {
  const old = takeOlder(await tx.all<TimedRow>(entriesSql, maxRows), before)
  const last = old.at(-1)
  if (!last) return { count: 0, more: false }
  return { count: await tx.run('DELETE FROM audit WHERE seq <= ?', last.seq), more: old.length === maxRows }
}

async function getSpace(tx: Transaction): Promise<Space> {
  return await tx.getSpace()
}

/** Returns up to this many free bytes to the disk, rounded up to whole units of the engine. */
async function reclaimSpace(tx: Transaction, bytes: number): Promise<void> {
  await tx.reclaimSpace(bytes)
}
