// Lists sessions: those that have started, those that a queued run will start, and those in which only events wait.
import type { Transaction } from '../transaction.ts'
import type { StoredSession } from './session.ts'

export const sessionListReads = { listSessions }

/**
 * Where a page of sessions ended: at a session that has started or has events, and at the queued run (`run`) whose
 * session has not started.
 */
export interface SessionPosition extends Pick<StoredSession, 'updatedAt' | 'key'> {
  run: number
}

export interface SessionPage {
  items: StoredSession[]
  /** Where the next page starts; absent on the last page. */
  next?: SessionPosition
}

/** The rows that one call reads when it filters. */
const windowRows = 1000

interface Candidate extends StoredSession {
  /** The `seq` of the queued run that will start the session. */
  run?: number
  /** True: another candidate lists the session. */
  isHidden?: boolean
  /** True: the window ends here, so that later rows are unknown. */
  isWindowEnd?: boolean
}

interface SessionFilter {
  agentId?: string | undefined
  /** Only sessions of these agents. */
  agents?: readonly string[] | undefined
  /** The agent of sessions whose key names none. */
  defaultAgentId: string
  after?: SessionPosition | undefined
  limit: number
}

/**
 * Lists sessions, the most recently used first.
 *
 * Accepting an event, or a webhook run without a session key, writes no session row. Such sessions are found by what
 * waits in them. The three sources come from their indexes, newest first, and are merged.
 */
export async function listSessions(
  tx: Transaction,
  { agentId, agents, defaultAgentId, after = newest, limit }: SessionFilter,
): Promise<SessionPage> {
  const isFiltered = agentId !== undefined || agents !== undefined
  const matches = (session: StoredSession): boolean =>
    (agentId === undefined || session.agentId === agentId) && (!agents || agents.includes(session.agentId))
  const rows = isFiltered ? windowRows : limit + 1
  const sources = [
    await selectStarted(tx, after, rows),
    await selectQueued(tx, after, rows),
    await selectWithEventsOnly(tx, after, defaultAgentId),
  ]
  const items: StoredSession[] = []
  let position = after
  for (const { run, isHidden, isWindowEnd, ...session } of sources.flat().toSorted(byNewest)) {
    if (items.length === limit) return { items, next: position }
    position =
      run === undefined ? { ...position, updatedAt: session.updatedAt, key: session.key } : { ...position, run }
    if (!isHidden && matches(session)) items.push(session)
    if (isWindowEnd) return { items, next: position }
  }
  return { items }
}

const newest: SessionPosition = { updatedAt: Number.MAX_SAFE_INTEGER, key: '', run: Number.MAX_SAFE_INTEGER }

const byNewest = (one: Candidate, other: Candidate): number =>
  other.updatedAt - one.updatedAt || (one.key < other.key ? 1 : -1)

/** Marks the last row of a full window. */
const markWindowEnd = (rows: Candidate[], limit: number): Candidate[] =>
  rows.map((row, index) => (index === limit - 1 ? { ...row, isWindowEnd: true } : row))

const startedSql = `
  SELECT key, agent_id AS "agentId", updated_at AS "updatedAt" FROM session
  WHERE (updated_at, key) < (?, ?) ORDER BY updated_at DESC, key DESC LIMIT ?`

async function selectStarted(
  tx: Transaction,
  { updatedAt, key }: SessionPosition,
  limit: number,
): Promise<Candidate[]> {
  return markWindowEnd(await tx.all<Candidate>(startedSql, updatedAt, key, limit), limit)
}

/** If several runs wait in a session, the newest represents it. */
const queuedSql = `
  SELECT seq AS run, session_key AS key, agent_id AS "agentId", created_at AS "updatedAt",
    CASE WHEN EXISTS (SELECT 1 FROM session WHERE session.key = run.session_key)
      OR EXISTS (
        SELECT 1 FROM run AS later
        WHERE later.session_key = run.session_key AND later.status IN ('queued', 'running') AND later.seq > run.seq)
    THEN 1 ELSE 0 END AS "isHidden"
  FROM run WHERE status = 'queued' AND seq < ? ORDER BY seq DESC LIMIT ?`

/** Keeps the order of `seq` even if the clock was set back, because the next page continues after the last `seq`. */
async function selectQueued(tx: Transaction, position: SessionPosition, limit: number): Promise<Candidate[]> {
  const found = await tx.all<Omit<Candidate, 'isHidden'> & { isHidden: number }>(queuedSql, position.run, limit)
  let earliest = Number.MAX_SAFE_INTEGER
  const inOrder = found.map(({ run, key, agentId, isHidden, updatedAt }) => {
    earliest = Math.min(earliest, updatedAt)
    return { run, key, agentId, isHidden: isHidden === 1, updatedAt: earliest }
  })
  return markWindowEnd(inOrder, limit)
}

/** Steps from one session key to the next in the index, however many events wait in each session. */
const withEventsOnlySql = `
  WITH RECURSIVE waiting (key) AS (
    SELECT min(session_key) FROM event WHERE run_id IS NULL
    UNION ALL
    SELECT (SELECT min(event.session_key) FROM event WHERE event.run_id IS NULL AND event.session_key > waiting.key)
    FROM waiting WHERE waiting.key IS NOT NULL)
  SELECT waiting.key, (
    SELECT at FROM event
    WHERE event.session_key = waiting.key AND event.run_id IS NULL ORDER BY seq DESC LIMIT 1) AS "updatedAt"
  FROM waiting
  WHERE waiting.key IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM session WHERE session.key = waiting.key)
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.session_key = waiting.key AND run.status IN ('queued', 'running'))`

async function selectWithEventsOnly(
  tx: Transaction,
  { updatedAt, key }: SessionPosition,
  defaultAgentId: string,
): Promise<Candidate[]> {
  const found = await tx.all<Pick<StoredSession, 'key' | 'updatedAt'>>(withEventsOnlySql)
  return found
    .filter((one) => one.updatedAt < updatedAt || (one.updatedAt === updatedAt && one.key < key))
    .map((one) => ({ key: one.key, updatedAt: one.updatedAt, agentId: agentOfKey(one.key) ?? defaultAgentId }))
}

/** The agent that a session key names; undefined for keys such as `global`. */
export const agentOfKey = (key: string): string | undefined => /^agent:([^:]+):/.exec(key)?.[1]
