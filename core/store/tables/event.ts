// Events wait in a session until a run claims them. They leave the queue when that run has rendered them.
import type { WakeMode } from '../../action.ts'
import { type Provenance, readProvenance, writeProvenance } from '../provenance.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import type { RunRef } from './run.ts'

export const eventWrites = { claimEvents, moveEvents }
export const eventReads = {
  listRenderedEvents,
  listWaitingEvents,
  countWaitingEvents,
  listSessionsWithWakes,
  listWaitingWakes,
}

export interface NewEvent {
  id: string
  sessionKey: string
  text: string
  /** `now` also wakes the heartbeat. */
  mode: WakeMode
  /** The event's origin, as prompts name it: `webhook wake`, `run 0198…`. */
  source: string
  /** True: prompts show the text without the external content wrapper. */
  trusted: boolean
  /** Where its text came from. Absent: from `source`, which is outside unless the event is trusted. */
  provenance?: Provenance | undefined
  /**
   * True: the text is the field `text` of the body of the request that the event is accepted with, and is stored only
   * there. At most one event of a command may set it.
   */
  inBody?: boolean
  /**
   * The agent that the event wakes, whatever session it waits in. Absent: the event wakes the agent whose main session
   * it waits in, if any.
   */
  agentId?: string | undefined
}

export interface StoredEvent extends Omit<NewEvent, 'inBody' | 'agentId'> {
  at: Timestamp
}

/** The number of events that one call returns, and roughly the number of their characters. At least one is returned. */
export interface EventLimit {
  count: number
  characters: number
  /** If no other events wait, one is returned that the service of a model has refused, and that is due by this time. */
  refusedUntil?: Timestamp
}

/** A session in which events wait for the agent that they name. */
export interface WaitingWake {
  agentId: string
  sessionKey: string
  mode: WakeMode
}

export const eventInsertion: Insertion = {
  table: 'event',
  columns: {
    id: 'text',
    session_key: 'text',
    text: 'text',
    request_id: 'text',
    mode: 'text',
    source: 'text',
    trusted: 'integer',
    at: 'integer',
    agent_id: 'text',
    provenance: 'text',
  },
}

/** `requestId` is the request that the events were accepted with. */
export function toEventRows(
  events: readonly NewEvent[],
  { at, requestId }: { at: Timestamp; requestId?: string | undefined },
): Row[] {
  // Only one event may share its text with the request, so that the body is needed no longer once that one is rendered.
  const owner = requestId === undefined ? undefined : events.find(({ inBody }) => inBody)
  return events.map((event) => {
    const { id, sessionKey, text, mode, source, trusted, agentId = null } = event
    return [
      id,
      sessionKey,
      event === owner ? null : text,
      requestId ?? null,
      mode,
      source,
      Number(trusted),
      at,
      agentId,
      writeProvenance(event.provenance),
    ]
  })
}

export async function insertEvents(tx: Transaction, events: readonly NewEvent[], at: Timestamp): Promise<void> {
  await tx.insert(eventInsertion, toEventRows(events, { at }))
}

interface EventRow extends Omit<StoredEvent, 'text' | 'trusted' | 'provenance'> {
  seq: number
  text: string | null
  body: string | null
  trusted: number
  provenance: string | null
}

const columns = `
  seq, id, session_key AS "sessionKey", text, mode, source, trusted, at, provenance,
  (SELECT body FROM request WHERE request.id = event.request_id) AS body`
const heldRunSql = `SELECT 1 FROM run WHERE id = ? AND fencing_token = ? AND status = 'running'`
const claimedSql = `SELECT ${columns} FROM event WHERE run_id = ? AND rendered_at IS NULL ORDER BY seq`
const claimSql = `
  UPDATE event SET run_id = ? WHERE session_key = ? AND run_id IS NULL AND retry_at = 0 AND seq <= ?`
/** One that was refused is tried alone, so that it keeps no other waiting. */
const claimRefusedSql = `
  UPDATE event SET run_id = ? WHERE seq = (
    SELECT seq FROM event WHERE session_key = ? AND run_id IS NULL AND retry_at > 0 AND retry_at <= ?
    ORDER BY retry_at, seq LIMIT 1)`

/** Assigns the session's oldest waiting events to a run. A repeated call returns the same events. */
export async function claimEvents(
  tx: Transaction,
  run: RunRef,
  sessionKey: string,
  limit: EventLimit,
): Promise<StoredEvent[]> {
  if ((await tx.all(heldRunSql, run.id, run.fencingToken)).length === 0) return []
  const claimed = await tx.all<EventRow>(claimedSql, run.id)
  if (claimed.length > 0) return claimed.map(toEvent)
  const rows = await selectOldest(tx, sessionKey, limit)
  const events = limitCharacters(rows.map(toEvent), limit.characters)
  const last = rows[events.length - 1]
  if (last) await tx.run(claimSql, run.id, sessionKey, last.seq)
  else if (limit.refusedUntil) await tx.run(claimRefusedSql, run.id, sessionKey, limit.refusedUntil)
  else return []
  // Another gateway may have committed an earlier one since they were read.
  return (await tx.all<EventRow>(claimedSql, run.id)).map(toEvent)
}

/** SQLite knows the size of a text without reading it. */
const sizesSql = `
  SELECT seq, coalesce(
    octet_length(text), (SELECT octet_length(body) FROM request WHERE request.id = event.request_id), 0) AS size
  FROM event WHERE session_key = ? AND run_id IS NULL AND retry_at = 0 ORDER BY seq LIMIT ?`

const waitingSql = `
  SELECT ${columns} FROM event
  WHERE session_key = ? AND run_id IS NULL AND retry_at = 0 AND seq <= ? ORDER BY seq`

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

function toEvent({ text, body, trusted, provenance, seq: _seq, ...event }: EventRow): StoredEvent {
  return {
    ...event,
    text: text ?? readText(body ?? '{}'),
    trusted: trusted === 1,
    provenance: readProvenance(provenance),
  }
}

/** The text of a wake from its raw body, which was validated before it was accepted. */
export function readText(body: string): string {
  const { text = '' } = JSON.parse(body.replace(/^\uFEFF/, '')) as { text?: string }
  return text.trim().toWellFormed()
}

/** The session's oldest events that no run has claimed. */
export async function listWaitingEvents(
  tx: Transaction,
  sessionKey: string,
  limit: EventLimit,
): Promise<StoredEvent[]> {
  return (await selectOldest(tx, sessionKey, limit)).map(toEvent)
}

const ofRequestSql = `
  SELECT ${columns} FROM event WHERE request_id = ? AND request_id IS NOT NULL AND text IS NOT NULL ORDER BY seq`

/** The events of a request whose texts its mapping rendered, in order, until they are purged. */
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

/** An event that was refused waits as long as it has waited already: at least a minute, and at most a day. */
const [minRefusedMs, maxRefusedMs] = [60_000, 24 * 60 * 60_000]
const setAsideSql = `
  UPDATE event SET run_id = NULL, retry_at = ? + CASE
    WHEN at + ${minRefusedMs} > ? THEN ${minRefusedMs} WHEN at + ${maxRefusedMs} < ? THEN ${maxRefusedMs} ELSE ? - at END
  WHERE run_id = ? AND rendered_at IS NULL`

/** Sets the events that a run claimed aside, because the service of the model refused the prompt with them. */
export async function setClaimedEventsAside(tx: Transaction, runId: string, at: Timestamp): Promise<void> {
  await tx.run(setAsideSql, at, at, at, at, runId)
}

const countSql = 'SELECT count(*) AS n FROM event WHERE session_key = ? AND run_id IS NULL AND retry_at <= ?'

/** All events that wait, or those that a heartbeat may render by a time. */
export async function countWaitingEvents(
  tx: Transaction,
  sessionKey: string,
  dueAt: Timestamp = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql, sessionKey, dueAt)
  return row?.n ?? 0
}

const sessionsSql = `
  SELECT DISTINCT session_key AS "sessionKey" FROM event WHERE run_id IS NULL AND mode = 'now' AND retry_at <= ?`

/** Sessions with a waiting event of mode `now` that is due: wakes that were requested before a crash. */
export async function listSessionsWithWakes(tx: Transaction, dueAt: Timestamp): Promise<string[]> {
  return (await tx.all<{ sessionKey: string }>(sessionsSql, dueAt)).map(({ sessionKey }) => sessionKey)
}

const wakesSql = `
  SELECT DISTINCT agent_id AS "agentId", session_key AS "sessionKey", mode
  FROM event WHERE agent_id IS NOT NULL AND run_id IS NULL AND retry_at <= ?`

/** Sessions with events that are due and wait for the agent that they name. */
export async function listWaitingWakes(tx: Transaction, dueAt: Timestamp): Promise<WaitingWake[]> {
  return await tx.all<WaitingWake>(wakesSql, dueAt)
}

const moveSql = `
  UPDATE event SET session_key = ?, agent_id = NULL WHERE session_key = ? AND run_id IS NULL AND agent_id IS NULL`
const moveNamedSql = `
  UPDATE event SET session_key = ?, agent_id = NULL WHERE agent_id = ? AND session_key = ? AND run_id IS NULL`

/**
 * Moves the events that wait in a session to another one, where they wake its agent: those that name an agent, or those
 * that name none. @returns how many
 */
export async function moveEvents(
  tx: Transaction,
  { sessionKey, agentId }: { sessionKey: string; agentId: string | null },
  to: string,
): Promise<number> {
  return agentId === null ? await tx.run(moveSql, to, sessionKey) : await tx.run(moveNamedSql, to, agentId, sessionKey)
}
