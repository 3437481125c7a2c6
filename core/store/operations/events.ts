// Events: they wait in a session until a run takes them, and leave it when that run has rendered them.
import type { EventLimit, NewEvent, Store, StoredEvent, Timestamp, WaitingWake } from '../store.ts'
import type { Transaction } from './transaction.ts'

const insertSql =
  'INSERT INTO event (id, session_key, text, request_id, mode, source, trusted, at, agent_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'

interface Arrived {
  at: Timestamp
  /** The request that the events came with. */
  requestId: string | undefined
}

export async function insertEvents(
  tx: Transaction,
  events: readonly NewEvent[],
  { at, requestId }: Arrived,
): Promise<void> {
  // One event can have it, so that the request is awaited no longer when that one has been rendered.
  const owner = events.find(({ inBody }) => inBody)
  for (const event of events) {
    const { id, sessionKey, text, mode, source, trusted, agentId = null } = event
    const [ownText, bodyOf] = event === owner && requestId !== undefined ? [null, requestId] : [text, null]
    await tx.run(insertSql, id, sessionKey, ownText, bodyOf, mode, source, Number(trusted), at, agentId)
  }
}

interface EventRow extends Omit<StoredEvent, 'text' | 'trusted'> {
  seq: number
  text: string | null
  body: string | null
  trusted: number
}

const columns = `seq, id, session_key AS "sessionKey", text, (SELECT body FROM request WHERE request.id = event.request_id) AS body, mode, source, trusted, at`
const heldSql = `SELECT 1 FROM run WHERE id = ? AND fencing_token = ? AND status = 'running'`
const takenSql = `SELECT ${columns} FROM event WHERE run_id = ? AND rendered_at IS NULL ORDER BY seq`
const takeSql = 'UPDATE event SET run_id = ? WHERE session_key = ? AND run_id IS NULL AND seq <= ?'

export async function claimEvents(
  tx: Transaction,
  ...[run, sessionKey, limit]: Parameters<Store['claimEvents']>
): Promise<StoredEvent[]> {
  if ((await tx.all(heldSql, run.id, run.fencingToken)).length === 0) return []
  const before = await tx.all<EventRow>(takenSql, run.id)
  if (before.length > 0) return before.map(toEvent)
  const rows = await oldest(tx, sessionKey, limit)
  const events = fitting(rows.map(toEvent), limit.characters)
  const last = rows[events.length - 1]
  if (last) await tx.run(takeSql, run.id, sessionKey, last.seq)
  return events
}

/** The size of a text is known without reading it. */
const sizesSql = `
  SELECT seq, coalesce(octet_length(text), (SELECT octet_length(body) FROM request WHERE request.id = event.request_id), 0) AS size
  FROM event WHERE session_key = ? AND run_id IS NULL ORDER BY seq LIMIT ?`

const waitingSql = `SELECT ${columns} FROM event WHERE session_key = ? AND run_id IS NULL AND seq <= ? ORDER BY seq`

/**
 * Bytes that a character may take in the body of a request, where a text is kept: `\u2028`, and the fields around it.
 */
const bytesPerCharacter = 8

/** Up to the one with which they are as long as `characters` can be: at least one, and never many long ones. */
async function oldest(tx: Transaction, sessionKey: string, { count, characters }: EventLimit): Promise<EventRow[]> {
  const sizes = await tx.all<{ seq: number; size: number }>(sizesSql, sessionKey, count)
  let room = characters * bytesPerCharacter
  const last = sizes.find(({ size }) => (room -= size) <= 0) ?? sizes.at(-1)
  return last ? await tx.all<EventRow>(waitingSql, sessionKey, last.seq) : []
}

/** As many as fit into so many characters, but at least one: a long event must not block its session. */
export function fitting(events: StoredEvent[], characters: number): StoredEvent[] {
  let room = characters
  const end = events.findIndex(({ text }, index) => (room -= text.length) < 0 && index > 0)
  return end === -1 ? events : events.slice(0, end)
}

function toEvent({ id, sessionKey, text, body, mode, source, trusted, at }: EventRow): StoredEvent {
  return { id, sessionKey, text: text ?? textIn(body ?? '{}'), mode, source, trusted: trusted === 1, at }
}

/** The text of a wake, out of its body, which was checked before it was accepted, and is kept as it came. */
function textIn(body: string): string {
  const { text = '' } = JSON.parse(body.replace(/^\uFEFF/, '')) as { text?: string }
  return text.trim().toWellFormed()
}

export async function listWaitingEvents(
  tx: Transaction,
  sessionKey: string,
  limit: EventLimit,
): Promise<StoredEvent[]> {
  return (await oldest(tx, sessionKey, limit)).map(toEvent)
}

const readSql =
  'UPDATE request SET awaited = 0 WHERE id IN (SELECT request_id FROM event WHERE run_id = ? AND rendered_at IS NULL)'
const renderedSql = 'UPDATE event SET rendered_at = ? WHERE run_id = ? AND rendered_at IS NULL'
const giveBackSql = 'UPDATE event SET run_id = NULL WHERE run_id = ? AND rendered_at IS NULL'

/** What the run took has been said to a model and is over. */
export async function finishClaimedEvents(tx: Transaction, runId: string, at: Timestamp): Promise<void> {
  await tx.run(readSql, runId)
  await tx.run(renderedSql, at, runId)
}

/** What the run took waits again, in its old place. */
export async function releaseClaimedEvents(tx: Transaction, runId: string): Promise<void> {
  await tx.run(giveBackSql, runId)
}

const countSql = 'SELECT count(*) AS n FROM event WHERE session_key = ? AND run_id IS NULL'

export async function countWaitingEvents(tx: Transaction, sessionKey: string): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql, sessionKey)
  return row?.n ?? 0
}

const sessionsWithWakesSql = `SELECT DISTINCT session_key AS "sessionKey" FROM event WHERE run_id IS NULL AND mode = 'now'`

export async function listSessionsWithWakes(tx: Transaction): Promise<string[]> {
  return (await tx.all<{ sessionKey: string }>(sessionsWithWakesSql)).map(({ sessionKey }) => sessionKey)
}

const wakesSql = `
  SELECT DISTINCT agent_id AS "agentId", session_key AS "sessionKey", mode FROM event WHERE agent_id IS NOT NULL AND run_id IS NULL`

export async function listWaitingWakes(tx: Transaction): Promise<WaitingWake[]> {
  return await tx.all<WaitingWake>(wakesSql)
}
