// Events wait in a session until a run claims them. They leave the queue when that run has rendered them.
import type { EventLimit, NewEvent, Store, StoredEvent, Timestamp, WaitingWake } from '../store.ts'
import type { Transaction } from '../transaction.ts'

const insertSql = `
  INSERT INTO event (id, session_key, text, request_id, mode, source, trusted, at, agent_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** `requestId` is the request that the events were accepted with. */
export async function insertEvents(
  tx: Transaction,
  events: readonly NewEvent[],
  { at, requestId }: { at: Timestamp; requestId: string | undefined },
): Promise<void> {
  // Only one event may share its text with the request, so that the body is needed no longer once that one is rendered.
  const owner = events.find(({ inBody }) => inBody)
  const inserts = events.map(async (event) => {
    const { id, sessionKey, text, mode, source, trusted, agentId = null } = event
    const ownText = event === owner && requestId !== undefined ? null : text
    await tx.run(insertSql, id, sessionKey, ownText, requestId ?? null, mode, source, Number(trusted), at, agentId)
  })
  await Promise.all(inserts)
}

interface EventRow extends Omit<StoredEvent, 'text' | 'trusted'> {
  seq: number
  text: string | null
  body: string | null
  trusted: number
}

const columns = `
  seq, id, session_key AS "sessionKey", text, mode, source, trusted, at,
  (SELECT body FROM request WHERE request.id = event.request_id) AS body`
const heldRunSql = `SELECT 1 FROM run WHERE id = ? AND fencing_token = ? AND status = 'running'`
const claimedSql = `SELECT ${columns} FROM event WHERE run_id = ? AND rendered_at IS NULL ORDER BY seq`
const claimSql = 'UPDATE event SET run_id = ? WHERE session_key = ? AND run_id IS NULL AND seq <= ?'

export async function claimEvents(
  tx: Transaction,
  ...[run, sessionKey, limit]: Parameters<Store['claimEvents']>
): Promise<StoredEvent[]> {
  if ((await tx.all(heldRunSql, run.id, run.fencingToken)).length === 0) return []
  const claimed = await tx.all<EventRow>(claimedSql, run.id)
  if (claimed.length > 0) return claimed.map(toEvent)
  const rows = await selectOldest(tx, sessionKey, limit)
  const events = limitCharacters(rows.map(toEvent), limit.characters)
  const last = rows[events.length - 1]
  if (last) await tx.run(claimSql, run.id, sessionKey, last.seq)
  return events
}

/** SQLite knows the size of a text without reading it. */
const sizesSql = `
  SELECT seq, coalesce(
    octet_length(text), (SELECT octet_length(body) FROM request WHERE request.id = event.request_id), 0) AS size
  FROM event WHERE session_key = ? AND run_id IS NULL ORDER BY seq LIMIT ?`

const waitingSql = `SELECT ${columns} FROM event WHERE session_key = ? AND run_id IS NULL AND seq <= ? ORDER BY seq`

/** The most bytes that a character takes in a JSON body, with its share of the other fields: `\u2028` takes six. */
const maxBytesPerCharacter = 8

/** The oldest events whose texts may together have `characters` characters: at least one, and few if they are long. */
async function selectOldest(
  tx: Transaction,
  sessionKey: string,
  { count, characters }: EventLimit,
): Promise<EventRow[]> {
  const sizes = await tx.all<{ seq: number; size: number }>(sizesSql, sessionKey, count)
  let bytesLeft = characters * maxBytesPerCharacter
  const last = sizes.find(({ size }) => (bytesLeft -= size) <= 0) ?? sizes.at(-1)
  return last ? await tx.all<EventRow>(waitingSql, sessionKey, last.seq) : []
}

/** The first events that fit into so many characters, but at least one: a long event must not block its session. */
export function limitCharacters(events: StoredEvent[], characters: number): StoredEvent[] {
  let left = characters
  const end = events.findIndex(({ text }, index) => (left -= text.length) < 0 && index > 0)
  return end === -1 ? events : events.slice(0, end)
}

function toEvent({ id, sessionKey, text, body, mode, source, trusted, at }: EventRow): StoredEvent {
  return { id, sessionKey, text: text ?? readText(body ?? '{}'), mode, source, trusted: trusted === 1, at }
}

/** The text of a wake from its raw body, which was validated before it was accepted. */
export function readText(body: string): string {
  const { text = '' } = JSON.parse(body.replace(/^\uFEFF/, '')) as { text?: string }
  return text.trim().toWellFormed()
}

export async function listWaitingEvents(
  tx: Transaction,
  sessionKey: string,
  limit: EventLimit,
): Promise<StoredEvent[]> {
  return (await selectOldest(tx, sessionKey, limit)).map(toEvent)
}

const ofRequestSql = `
  SELECT ${columns} FROM event WHERE request_id = ? AND request_id IS NOT NULL AND text IS NOT NULL ORDER BY seq`

export async function listRenderedEvents(tx: Transaction, requestId: string): Promise<StoredEvent[]> {
  return (await tx.all<EventRow>(ofRequestSql, requestId)).map(toEvent)
}

const releaseBodiesSql = `
  UPDATE request SET awaited = 0
  WHERE id IN (SELECT request_id FROM event WHERE run_id = ? AND rendered_at IS NULL)`
const finishSql = 'UPDATE event SET rendered_at = ? WHERE run_id = ? AND rendered_at IS NULL'
const releaseSql = 'UPDATE event SET run_id = NULL WHERE run_id = ? AND rendered_at IS NULL'

/** Removes the events that a run claimed from the queue, because a model has seen them. */
export async function finishClaimedEvents(tx: Transaction, runId: string, at: Timestamp): Promise<void> {
  await tx.run(releaseBodiesSql, runId)
  await tx.run(finishSql, at, runId)
}

/** Returns the events that a run claimed to their position in the queue. */
export async function releaseClaimedEvents(tx: Transaction, runId: string): Promise<void> {
  await tx.run(releaseSql, runId)
}

const countSql = 'SELECT count(*) AS n FROM event WHERE session_key = ? AND run_id IS NULL'

export async function countWaitingEvents(tx: Transaction, sessionKey: string): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql, sessionKey)
  return row?.n ?? 0
}

const sessionsSql = `SELECT DISTINCT session_key AS "sessionKey" FROM event WHERE run_id IS NULL AND mode = 'now'`

export async function listSessionsWithWakes(tx: Transaction): Promise<string[]> {
  return (await tx.all<{ sessionKey: string }>(sessionsSql)).map(({ sessionKey }) => sessionKey)
}

const wakesSql = `
  SELECT DISTINCT agent_id AS "agentId", session_key AS "sessionKey", mode
  FROM event WHERE agent_id IS NOT NULL AND run_id IS NULL`

export async function listWaitingWakes(tx: Transaction): Promise<WaitingWake[]> {
  return await tx.all<WaitingWake>(wakesSql)
}
