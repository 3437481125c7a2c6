// Purging: what is over leaves the store, the oldest first, a few rows at a time; what is still to be done, or needed
// for it, stays.
import type {
  PurgeBodiesStep,
  PurgedBodies,
  Purgeable,
  PurgePositions,
  PurgeResult,
  PurgeStep,
  StoredSession,
  Timestamp,
} from '../store.ts'
import type { Transaction } from './transaction.ts'

/**
 * Rows of each table that one step looks at, and bytes of their texts: whatever is accepted at that moment waits no
 * longer than this takes.
 */
const rowsAtOnce = 200
const bytesAtOnce = 2 * 1024 * 1024

interface Table {
  name: string
  /** When a row came. As good as in the order of `seq`, which therefore serves as the index of what is oldest. */
  at: string
  /** The size of its texts, which is known without reading them. */
  size: string
  /** Whether a row is over, and was before a time. */
  over: string
}

type Logged = Exclude<Purgeable, 'sessions'>

const tables: Record<Logged, Table> = {
  // A wake's text stands in its request alone, until a turn has rendered it.
  requests: { name: 'request', at: 'at', size: 'coalesce(octet_length(body), 0)', over: 'at < ? AND awaited = 0' },
  runs: {
    name: 'run',
    at: 'created_at',
    size: 'octet_length(spec) + octet_length(message) + octet_length(result)',
    over: `ended_at < ?
      AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = run.id AND outbox.status IN ('pending', 'sending'))`,
  },
  deliveries: {
    name: 'outbox',
    at: 'created_at',
    size: 'octet_length(text)',
    over: `coalesce(ended_at, created_at) < ? AND status NOT IN ('pending', 'sending')`,
  },
  events: { name: 'event', at: 'at', size: 'coalesce(octet_length(text), 0)', over: 'rendered_at < ?' },
}

const kinds = Object.keys(tables) as Logged[]

const oldest: PurgePositions = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: { updatedAt: 0, key: '' } }

/** Rows of one table behind a place. */
interface Window<SessionPosition> {
  last: SessionPosition
  /** When the last of them came; Infinity: there are none behind it. */
  reach: Timestamp
}

export async function purge(tx: Transaction, { before, from = oldest }: PurgeStep): Promise<PurgeResult> {
  const windows = {} as Record<Logged, Window<number>>
  for (const kind of kinds) windows[kind] = await rowsFrom(tx, tables[kind], from[kind])
  const sessions = await sessionsFrom(tx, from.sessions)

  // All tables advance to the same moment, so that nothing goes while something older is left.
  const reach = Math.min(sessions.reach, ...Object.values(windows).map((window) => window.reach))
  const until = Math.min(reach, before - 1)
  const counts = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0 }
  const next = { ...from }
  for (const kind of kinds) {
    const range = [from[kind], windows[kind].last, until] as const
    next[kind] = await lastIn(tx, tables[kind], range)
    if (kind === 'runs') await tx.run(exposureSql, ...range, before)
    counts[kind] = await tx.run(deleteSql(tables[kind]), ...range, before)
  }
  next.sessions = sessions.rows.findLast(({ updatedAt }) => updatedAt <= until) ?? from.sessions
  counts.sessions = await purgeSessions(tx, [from.sessions, next.sessions])
  return reach < before ? { counts, next } : { counts }
}

const windowSql = ({ name, size }: Table) =>
  `SELECT seq, ${size} AS size FROM ${name} WHERE seq > ? ORDER BY seq LIMIT ?`
const atSql = ({ name, at }: Table) => `SELECT ${at} AS at FROM ${name} WHERE seq = ?`

/** As many as one step may look at. */
async function rowsFrom(tx: Transaction, table: Table, from: number): Promise<Window<number>> {
  const rows = await tx.all<{ seq: number; size: number }>(windowSql(table), from, rowsAtOnce)
  let room = bytesAtOnce
  const last = rows.find(({ size }) => (room -= size) <= 0) ?? (rows.length === rowsAtOnce ? rows.at(-1) : undefined)
  if (!last) return { last: Number.MAX_SAFE_INTEGER, reach: Infinity }
  const [row] = await tx.all<{ at: Timestamp }>(atSql(table), last.seq)
  return { last: last.seq, reach: row?.at ?? Infinity }
}

type Range = readonly [from: number, last: number, until: Timestamp]

const inRange = ({ at }: Table) => `seq > ? AND seq <= ? AND ${at} <= ?`
const lastSql = (table: Table) => `SELECT max(seq) AS seq FROM ${table.name} WHERE ${inRange(table)}`
const deleteSql = (table: Table) => `DELETE FROM ${table.name} WHERE ${inRange(table)} AND ${table.over}`
/** What was noted of a run alone goes with it. */
const exposureSql = `DELETE FROM exposure WHERE scope IN (SELECT id FROM run WHERE ${inRange(tables.runs)} AND ${tables.runs.over})`

async function lastIn(tx: Transaction, table: Table, range: Range): Promise<number> {
  const [row] = await tx.all<{ seq: number | null }>(lastSql(table), ...range)
  return row?.seq ?? range[0]
}

type SessionPosition = Pick<StoredSession, 'updatedAt' | 'key'>

const sessionsSql =
  'SELECT updated_at AS "updatedAt", key FROM session WHERE (updated_at, key) > (?, ?) ORDER BY updated_at, key LIMIT ?'

async function sessionsFrom(
  tx: Transaction,
  { updatedAt, key }: SessionPosition,
): Promise<{ rows: SessionPosition[]; reach: Timestamp }> {
  const rows = await tx.all<SessionPosition>(sessionsSql, updatedAt, key, rowsAtOnce)
  return { rows, reach: rows.length === rowsAtOnce ? (rows.at(-1)?.updatedAt ?? Infinity) : Infinity }
}

/** Of sessions that nobody has named those in which nothing is left to do. */
const deadSql = `
  SELECT key FROM session
  WHERE (updated_at, key) > (?, ?) AND (updated_at, key) <= (?, ?) AND unnamed = 1
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.session_key = session.key AND run.status IN ('queued', 'running'))
    AND NOT EXISTS (SELECT 1 FROM event WHERE event.session_key = session.key AND event.run_id IS NULL)`

async function purgeSessions(
  tx: Transaction,
  [from, to]: readonly [SessionPosition, SessionPosition],
): Promise<number> {
  const dead = await tx.all<{ key: string }>(deadSql, from.updatedAt, from.key, to.updatedAt, to.key)
  for (const { key } of dead) {
    await tx.run('DELETE FROM transcript WHERE session_key = ?', key)
    await tx.run('DELETE FROM exposure WHERE scope = ?', key)
    await tx.run('DELETE FROM session WHERE key = ?', key)
  }
  return dead.length
}

interface BodyRow {
  seq: number
  at: Timestamp
  awaited: number
  /** Known without reading the body. */
  size: number
}

const bodiesSql =
  'SELECT seq, at, awaited, coalesce(octet_length(body), 0) AS size FROM request WHERE seq > ? ORDER BY seq LIMIT ?'
const purgeBodiesSql = 'UPDATE request SET body = NULL WHERE seq > ? AND seq <= ? AND awaited = 0 AND body IS NOT NULL'

export async function purgeBodies(tx: Transaction, { before, from = 0 }: PurgeBodiesStep): Promise<PurgedBodies> {
  const rows = await tx.all<BodyRow>(bodiesSql, from, rowsAtOnce)
  let room = bytesAtOnce
  const young = rows.findIndex(({ at }) => at >= before)
  const old = young === -1 ? rows : rows.slice(0, young)
  const full = old.findIndex(({ size }) => (room -= size) <= 0)
  const taken = full === -1 ? old : old.slice(0, full + 1)
  const last = taken.at(-1)?.seq ?? from
  return {
    count: await tx.run(purgeBodiesSql, from, last),
    last,
    more: taken.length < old.length || old.length === rowsAtOnce,
    complete: taken.every(({ awaited }) => awaited === 0),
  }
}
