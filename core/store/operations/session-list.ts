// The list of sessions: those that have begun, those that a waiting run will begin, and those in which only events
// wait.
import type { SessionPage, SessionPosition, Store, StoredSession } from '../store.ts'
import type { Transaction } from './transaction.ts'

/** Rows that one call looks at when it filters. */
const windowRows = 1000

interface Candidate extends StoredSession {
  /** The `seq` of the run that will begin it. */
  run?: number
  /** True: it is listed elsewhere. */
  hidden?: boolean
  /** True: whether there are others behind it is not known. */
  last?: boolean
}

/**
 * Nothing is written for a session when a webhook is accepted that names none, or an event: these are found by what
 * waits in them. All three are handed out by their indexes, newest first, and merged.
 */
export async function listSessions(
  tx: Transaction,
  { agentId, defaultAgentId, after = newest, limit }: Parameters<Store['listSessions']>[0],
): Promise<SessionPage> {
  const rows = agentId === undefined ? limit + 1 : windowRows
  const sources = [
    await begun(tx, after, rows),
    await queued(tx, after, rows),
    await onlyTold(tx, after, defaultAgentId),
  ]
  const items: StoredSession[] = []
  let place = after
  for (const { run, hidden, last, ...session } of sources.flat().toSorted(newestFirst)) {
    if (items.length === limit) return { items, next: place }
    place = run === undefined ? { ...place, updatedAt: session.updatedAt, key: session.key } : { ...place, run }
    if (!hidden && (agentId === undefined || session.agentId === agentId)) items.push(session)
    if (last) return { items, next: place }
  }
  return { items }
}

const newest: SessionPosition = { updatedAt: Number.MAX_SAFE_INTEGER, key: '', run: Number.MAX_SAFE_INTEGER }

const newestFirst = (one: Candidate, other: Candidate): number =>
  other.updatedAt - one.updatedAt || (one.key < other.key ? 1 : -1)

/** Marks the last of as many rows as were asked for. */
const windowed = (rows: Candidate[], asked: number): Candidate[] =>
  rows.map((row, index) => (index === asked - 1 ? { ...row, last: true } : row))

const begunSql = `
  SELECT key, agent_id AS "agentId", updated_at AS "updatedAt" FROM session
  WHERE (updated_at, key) < (?, ?) ORDER BY updated_at DESC, key DESC LIMIT ?`

const begun = async (tx: Transaction, { updatedAt, key }: SessionPosition, rows: number): Promise<Candidate[]> =>
  windowed(await tx.all<Candidate>(begunSql, updatedAt, key, rows), rows)

/** Of several runs that wait in one session the newest counts. */
const queuedSql = `
  SELECT seq AS run, session_key AS key, agent_id AS "agentId", created_at AS "updatedAt",
    CASE WHEN EXISTS (SELECT 1 FROM session WHERE session.key = run.session_key)
      OR EXISTS (
        SELECT 1 FROM run AS later
        WHERE later.session_key = run.session_key AND later.status IN ('queued', 'running') AND later.seq > run.seq)
    THEN 1 ELSE 0 END AS hidden
  FROM run WHERE status = 'queued' AND seq < ? ORDER BY seq DESC LIMIT ?`

/** In the order of their numbers, whatever the clock said: the next page goes on behind the last number. */
async function queued(tx: Transaction, place: SessionPosition, rows: number): Promise<Candidate[]> {
  const found = await tx.all<Omit<Candidate, 'hidden'> & { hidden: number }>(queuedSql, place.run, rows)
  let earliest = Number.MAX_SAFE_INTEGER
  const inOrder = found.map(({ run, key, agentId, hidden, updatedAt }) => {
    earliest = Math.min(earliest, updatedAt)
    return { run, key, agentId, hidden: hidden === 1, updatedAt: earliest }
  })
  return windowed(inOrder, rows)
}

/** Steps from one session to the next, however many events wait in each. */
const toldSql = `
  WITH RECURSIVE waiting (key) AS (
    SELECT min(session_key) FROM event WHERE run_id IS NULL
    UNION ALL
    SELECT (SELECT min(event.session_key) FROM event WHERE event.run_id IS NULL AND event.session_key > waiting.key) FROM waiting WHERE waiting.key IS NOT NULL)
  SELECT waiting.key, (SELECT at FROM event WHERE event.session_key = waiting.key AND event.run_id IS NULL ORDER BY seq DESC LIMIT 1) AS "updatedAt"
  FROM waiting
  WHERE waiting.key IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM session WHERE session.key = waiting.key)
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.session_key = waiting.key AND run.status IN ('queued', 'running'))`

async function onlyTold(
  tx: Transaction,
  { updatedAt, key }: SessionPosition,
  defaultAgentId: string,
): Promise<Candidate[]> {
  const found = await tx.all<Pick<StoredSession, 'key' | 'updatedAt'>>(toldSql)
  const older = found.filter((one) => one.updatedAt < updatedAt || (one.updatedAt === updatedAt && one.key < key))
  return older.map((one) => ({
    key: one.key,
    updatedAt: one.updatedAt,
    agentId: agentOfKey(one.key) ?? defaultAgentId,
  }))
}

/** The agent that a key names; absent: none, as `global`. */
export const agentOfKey = (key: string): string | undefined => /^agent:([^:]+):/.exec(key)?.[1]
