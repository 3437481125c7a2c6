// Ends a run: stores its result, transcript, events and deliveries in one transaction that its fencing token guards.
import type { TurnProvenance } from '../provenance.ts'
import type { RunResult, RunStatus } from '../run-spec.ts'
import type { Timestamp, Transaction } from '../transaction.ts'
import type { UsageCount } from './budget.ts'
import { type ApprovalNotice, cancelApprovals } from './approval.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import {
  finishClaimedEvents,
  insertEvents,
  type NewEvent,
  releaseClaimedEvents,
  setClaimedEventsAside,
} from './event.ts'
import { releaseKey, type RunKey } from './idempotency.ts'
import { insertDeliveries, type NewDelivery } from './outbox.ts'
import type { RunRef } from './run.ts'
import { appendTranscript, type NewTranscriptEntry, touchSession } from './session.ts'
import { closeSteps, countSteps, insertSteps, listCalls, type Step } from './step.ts'
import { type CountedRun, countUsage } from './usage.ts'

export const runEndWrites = { endRun, endQueuedRun }

/** Everything that the end of a run changes, in one transaction that the fencing token guards. */
export interface RunEnd {
  at: Timestamp
  status: Exclude<RunStatus, 'queued' | 'running' | 'waiting'>
  result: RunResult
  transcript: readonly NewTranscriptEntry[]
  events: readonly NewEvent[]
  deliveries: readonly NewDelivery[]
  /** True: the events that the run claimed were rendered and leave the queue. False: they wait again. */
  eventsRendered: boolean
  /** True: the service of the model refused the prompt with these events. From now on they wait apart from others. */
  eventsRefused?: boolean | undefined
  /** The steps that are not stored yet: the last call of the model. */
  steps?: readonly Step[] | undefined
  /** Where their usage is counted. */
  counted?: UsageCount | undefined
  /** Of what the transcript adds. */
  provenance?: TurnProvenance | undefined
  /** An alert that tells a person that the run failed. */
  alert?: FailureAlert | undefined
  /** The approvals for which its calls still wait. */
  notices?: readonly ApprovalNotice[] | undefined
  /** Who cancelled the run, for the audit log. */
  audit?: AuditedChange | undefined
}

/** Stored only if no alert with the same cause was stored within `quietMs`. */
export interface FailureAlert {
  cause: string
  quietMs: number
  delivery: NewDelivery
}

const endedColumns = `
  session_key AS "sessionKey", agent_id AS "agentId", spec, key_scope AS "keyScope", idempotency_key AS "idempotencyKey"`

const endSql = `
  UPDATE run SET status = ?, result = ?, ended_at = ?, owner = NULL, lease_until = NULL, steps = steps + ?
  WHERE id = ? AND fencing_token = ? AND status = 'running'
  RETURNING ${endedColumns}`
/** Finds an end that was stored before, but whose answer the caller did not receive. */
const isEndedSql = `SELECT 1 FROM run WHERE id = ? AND fencing_token = ? AND ended_at = ?`

type EndedRow = RunKey & CountedRun

/**
 * Ends a run. A repeated call with the same end returns true, too.
 * @returns false when the fencing token is stale and nothing was changed
 */
export async function endRun(tx: Transaction, { id, fencingToken }: RunRef, end: RunEnd): Promise<boolean> {
  const { at, status, result, steps = [] } = end
  const values = [status, JSON.stringify(result), at, steps.length]
  const [run] = await tx.all<EndedRow>(endSql, ...values, id, fencingToken)
  if (!run) return (await tx.all(isEndedSql, id, fencingToken, at)).length > 0
  await storeEffects(tx, { id, ...run }, end)
  await touchSession(tx, run, at)
  return true
}

const endQueuedSql = `
  UPDATE run SET status = ?, result = ?, ended_at = ?, not_before = NULL
  WHERE id = ? AND (status = 'queued' OR (status = 'waiting' AND ? = 'cancelled'))
  RETURNING ${endedColumns}`

/**
 * Ends a run that is not running: a cancelled one, or a queued one whose time is over.
 * @returns false when it runs, waits for an approval, has ended or does not exist
 */
export async function endQueuedRun(tx: Transaction, id: string, end: RunEnd): Promise<boolean> {
  const { status, result, at } = end
  const [run] = await tx.all<EndedRow>(endQueuedSql, status, JSON.stringify(result), at, id, status)
  if (run) await storeEffects(tx, { id, ...run }, end)
  return run !== undefined
}

async function storeEffects(tx: Transaction, run: EndedRow & { id: string }, end: RunEnd): Promise<void> {
  const { id, sessionKey } = run
  const { at, status, steps = [], transcript, events, deliveries } = end
  if (status !== 'succeeded' && run.keyScope !== null) await releaseKey(tx, run, id)
  await leaveEvents(tx, id, end)
  await closeSteps(tx, id, at)
  await cancelApprovals(tx, id, { at, notices: end.notices ?? [] })
  await insertSteps(tx, id, steps)
  await countUsage(tx, run, listCalls(steps))
  if (end.counted) await countSteps(tx, end.counted, steps)
  await appendTranscript(tx, { sessionKey, runId: id, at, provenance: end.provenance }, transcript)
  await insertEvents(tx, events, at)
  await insertDeliveries(tx, deliveries, at)
  await recordChange(tx, end.audit, at)
  if (end.alert && (await claimAlert(tx, end.alert, at))) await insertDeliveries(tx, [end.alert.delivery], at)
}

async function leaveEvents(tx: Transaction, id: string, { at, eventsRendered, eventsRefused }: RunEnd): Promise<void> {
  if (eventsRendered) return await finishClaimedEvents(tx, id, at)
  return await (eventsRefused ? setClaimedEventsAside(tx, id, at) : releaseClaimedEvents(tx, id))
}

/** Stores the time of the last alert of a cause. A time in the future was stored before the clock was set back. */
const alertSql = `
  INSERT INTO state (owner, key, value) VALUES ('failure-alert', ?, ?)
  ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value
  WHERE CAST(state.value AS BIGINT) <= ? OR CAST(state.value AS BIGINT) > ?`

/** @returns false when an alert with the same cause was sent recently */
async function claimAlert(tx: Transaction, { cause, quietMs }: FailureAlert, at: Timestamp): Promise<boolean> {
  return (await tx.run(alertSql, cause, JSON.stringify(at), at - quietMs, at)) === 1
}
