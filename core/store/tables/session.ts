// Sessions: when they were last used, what waits in them, and their transcripts.
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import { readJson } from '../../json.ts'
import { readTurnProvenance, type TurnProvenance, writeProvenance } from '../provenance.ts'
import type { Json } from '../../plugin/plugin.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { listPage, mapPage, type Page, type PageRequest } from './page.ts'

export const sessionWrites = { deleteSession }
export const sessionReads = { getSession, getSessionCounts, listTranscript }

export interface StoredSession {
  key: string
  agentId: string
  updatedAt: Timestamp
}

export interface SessionCounts {
  events: number
  queued: number
  running: number
  /** Runs that wait for an approval. */
  waiting: number
  transcript: number
}

export const sessionInsertion: Insertion = {
  table: 'session',
  columns: { key: 'text', agent_id: 'text', updated_at: 'integer', unnamed: 'integer' },
  onConflict: `
    ON CONFLICT (key) DO UPDATE SET
      updated_at = CASE
        WHEN excluded.updated_at > session.updated_at THEN excluded.updated_at ELSE session.updated_at END,
      unnamed = session.unnamed * excluded.unnamed
    WHERE excluded.updated_at > session.updated_at OR excluded.unnamed < session.unnamed`,
  keyColumns: 1,
  // Accepts and ends of runs write to the same sessions.
  atEnd: 'last',
}

/** Anything that belongs to a session, such as a run. */
interface OfSession {
  sessionKey: string
  agentId: string
}

/** The row of a session that a caller has named. */
export const toSessionRow = ({ sessionKey, agentId }: OfSession, at: Timestamp): Row => [sessionKey, agentId, at, 0]

/** Inserts a session that no caller has named, or updates one. A named session stays named. */
export async function touchSession(tx: Transaction, { sessionKey, agentId }: OfSession, at: Timestamp): Promise<void> {
  await tx.insert(sessionInsertion, [[sessionKey, agentId, at, 1]])
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
  (SELECT count(*) FROM run WHERE session_key = ? AND status = 'waiting') AS waiting,
  (SELECT count(*) FROM transcript WHERE session_key = ?) AS transcript`

export async function getSessionCounts(tx: Transaction, key: string): Promise<SessionCounts> {
  const [counts] = await tx.all<SessionCounts>(countsSql, key, key, key, key, key)
  return counts ?? { events: 0, queued: 0, running: 0, waiting: 0, transcript: 0 }
}

/** One message of a transcript, in the AI SDK's shape. */
export interface NewTranscriptEntry {
  message: Json
}

export interface StoredTranscriptEntry extends NewTranscriptEntry {
  seq: number
  runId: string
  at: Timestamp
  /** Of its turn. Undefined: it was not recorded. */
  provenance: TurnProvenance | undefined
}

const appendSql = 'INSERT INTO transcript (session_key, run_id, message, at, provenance) VALUES (?, ?, ?, ?, ?)'

interface EndedTurn {
  sessionKey: string
  runId: string
  at: Timestamp
  provenance: TurnProvenance | undefined
}

export async function appendTranscript(
  tx: Transaction,
  { sessionKey, runId, at, provenance }: EndedTurn,
  entries: readonly NewTranscriptEntry[],
): Promise<void> {
  const written = writeProvenance(provenance)
  for (const { message } of entries) await tx.run(appendSql, sessionKey, runId, JSON.stringify(message), at, written)
}

interface TranscriptRow extends Omit<StoredTranscriptEntry, 'message' | 'provenance'> {
  message: string
  provenance: string | null
}

/** The transcript of a session, newest entry first. */
export async function listTranscript(
  tx: Transaction,
  sessionKey: string,
  page: PageRequest,
): Promise<Page<StoredTranscriptEntry>> {
  const listing = {
    table: 'transcript',
    keys: 'seq',
    where: ['session_key = ?', sessionKey] as const,
    columns: 'seq, run_id AS "runId", message, at, provenance',
    sizeOf: ({ message }: TranscriptRow) => message.length,
  }
  return mapPage(await listPage(tx, listing, page), ({ message, provenance, ...row }) => ({
    ...row,
    message: readJson(message) as Json,
    provenance: readTurnProvenance(provenance),
  }))
}

/** `busy`: a run of it is queued, running or waiting, or a reply of one is not sent yet. */
export type SessionDeletion = 'deleted' | 'busy'

const busySql = `
  SELECT 1 FROM run WHERE session_key = ? AND status IN ('queued', 'running')
  UNION ALL SELECT 1 FROM run WHERE session_key = ? AND status = 'waiting'
  UNION ALL SELECT 1 FROM outbox WHERE status IN ('pending', 'sending')
    AND run_id IN (SELECT id FROM run WHERE session_key = ? AND status NOT IN ('queued', 'running'))
  LIMIT 1`
const runsSql = `SELECT id FROM run WHERE session_key = ? AND status NOT IN ('queued', 'running')`
/** Only the body of a request holds the text of some waiting events, and retention may delete it now. */
const releaseBodiesSql = `
  UPDATE request SET awaited = 0 WHERE id IN (SELECT request_id FROM event WHERE session_key = ? AND run_id IS NULL)`
const deletionSqls = [
  releaseBodiesSql,
  'DELETE FROM event WHERE session_key = ? AND run_id IS NULL',
  'DELETE FROM transcript WHERE session_key = ?',
  'DELETE FROM route WHERE session_key = ?',
  `DELETE FROM exposure WHERE scope IN (${runsSql})`,
  `DELETE FROM step WHERE run_id IN (${runsSql})`,
  `DELETE FROM approval WHERE run_id IN (${runsSql})`,
  `DELETE FROM run WHERE id IN (${runsSql})`,
  'DELETE FROM session WHERE key = ?',
]

/** Deletes a session with all that was said in it. What its requests and its deliveries hold stays until retention. */
export async function deleteSession(
  tx: Transaction,
  key: string,
  { at, audit }: { at: Timestamp; audit?: AuditedChange | undefined },
): Promise<SessionDeletion> {
  if ((await tx.all(busySql, key, key, key)).length > 0) return 'busy'
  for (const sql of deletionSqls) await tx.run(sql, key)
  await recordChange(tx, audit, at)
  return 'deleted'
}
