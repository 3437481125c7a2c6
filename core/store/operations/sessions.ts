// Sessions: when they were last used, their transcripts, and the routes that their messages came from.
import type { Json } from '../../plugin.ts'
import type {
  NewRoute,
  NewTranscriptEntry,
  Page,
  PageRequest,
  SessionCounts,
  StoredRoute,
  StoredSession,
  StoredTranscriptEntry,
  Timestamp,
} from '../store.ts'
import { listPage, mapPage } from './lists.ts'
import type { Transaction } from '../transaction.ts'

const touchSql = `
  INSERT INTO session (key, agent_id, updated_at, unnamed) VALUES (?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET
    updated_at = CASE
      WHEN excluded.updated_at > session.updated_at THEN excluded.updated_at ELSE session.updated_at END,
    unnamed = session.unnamed * excluded.unnamed
  WHERE excluded.updated_at > session.updated_at OR excluded.unnamed < session.unnamed`

/** Inserts or updates a session. A named session stays named: callers that do not know pass `unnamed`, too. */
export async function touchSession(
  tx: Transaction,
  { key, agentId, updatedAt }: StoredSession,
  unnamed = false,
): Promise<void> {
  await tx.run(touchSql, key, agentId, updatedAt, Number(unnamed))
}

/** A session without a row yet is found through its queued run. */
const getSql = `
  SELECT key, agent_id AS "agentId", updated_at AS "updatedAt" FROM session WHERE key = ?
  UNION ALL
  SELECT session_key, agent_id, created_at FROM run WHERE session_key = ? AND status IN ('queued', 'running')
  LIMIT 1`
export async function getSession(tx: Transaction, key: string): Promise<StoredSession | undefined> {
  const [session] = await tx.all<StoredSession>(getSql, key, key)
  return session
}

/** `status IN (…)` repeats the condition of the index of live runs. */
const countsSql = `SELECT
  (SELECT count(*) FROM event WHERE session_key = ? AND run_id IS NULL) AS events,
  (SELECT count(*) FROM run WHERE session_key = ? AND status IN ('queued', 'running') AND status = 'queued') AS queued,
  (SELECT count(*) FROM run WHERE session_key = ? AND status = 'running') AS running,
  (SELECT count(*) FROM transcript WHERE session_key = ?) AS transcript`

export async function getSessionCounts(tx: Transaction, key: string): Promise<SessionCounts> {
  const [counts] = await tx.all<SessionCounts>(countsSql, key, key, key, key)
  return counts ?? { events: 0, queued: 0, running: 0, transcript: 0 }
}

const appendSql = 'INSERT INTO transcript (session_key, run_id, message, at) VALUES (?, ?, ?, ?)'

export async function appendTranscript(
  tx: Transaction,
  { sessionKey, runId, at }: { sessionKey: string; runId: string; at: Timestamp },
  entries: readonly NewTranscriptEntry[],
): Promise<void> {
  for (const { message } of entries) await tx.run(appendSql, sessionKey, runId, JSON.stringify(message), at)
}

type TranscriptRow = Omit<StoredTranscriptEntry, 'message'> & { message: string }

export async function listTranscript(
  tx: Transaction,
  sessionKey: string,
  page: PageRequest,
): Promise<Page<StoredTranscriptEntry>> {
  const listing = {
    table: 'transcript',
    keys: 'seq',
    where: ['session_key = ?', sessionKey] as const,
    columns: 'seq, run_id AS "runId", message, at',
    sizeOf: ({ message }: TranscriptRow) => message.length,
  }
  return mapPage(await listPage(tx, listing, page), ({ message, ...row }) => ({
    ...row,
    message: JSON.parse(message) as Json,
  }))
}

/** Of two concurrent accepts, the later one wins, whichever is written first. */
const saveRouteSql = `
  INSERT INTO route (session_key, channel, account_id, recipient, thread_id, route, at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (session_key, channel) DO UPDATE SET
    account_id = excluded.account_id, recipient = excluded.recipient, thread_id = excluded.thread_id,
    route = excluded.route, at = excluded.at
  WHERE excluded.at >= route.at`

export async function saveRoute(
  tx: Transaction,
  route: NewRoute & { sessionKey: string },
  at: Timestamp,
): Promise<void> {
  const { sessionKey, channel, accountId, to, threadId } = route
  await tx.run(saveRouteSql, sessionKey, channel, accountId, to, threadId, JSON.stringify(route.route), at)
}

const routeColumns = 'channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId", route, at'
const lastRouteSql = `SELECT ${routeColumns} FROM route WHERE session_key = ? ORDER BY at DESC LIMIT 1`
const routeOnChannelSql = `SELECT ${routeColumns} FROM route WHERE session_key = ? AND channel = ?`

export async function getLastRoute(
  tx: Transaction,
  sessionKey: string,
  channel?: string,
): Promise<StoredRoute | undefined> {
  type Row = Omit<StoredRoute, 'route'> & { route: string }
  const [row] =
    channel === undefined
      ? await tx.all<Row>(lastRouteSql, sessionKey)
      : await tx.all<Row>(routeOnChannelSql, sessionKey, channel)
  return row && { ...row, route: JSON.parse(row.route) as Json }
}
