// Runs that wait until a budget opens again, and how they are released.
import type { RunSpec } from '../run-spec.ts'
import type { Timestamp, Transaction } from '../transaction.ts'
import { countRun, readRoom, type RunLimit } from './budget.ts'
import { type BudgetWait, type RunRef, stopTimeSql } from './run.ts'

export const waitingRunWrites = { postponeRun, releaseWaitingRuns, moveWaitingRuns }
export const waitingRunReads = { listWaitingRuns }

const postponeSql = `
  UPDATE run SET status = 'queued', attempt = attempt - 1, owner = NULL, lease_until = NULL,
    not_before = ?, waits_for = ?, aside = 1, ${stopTimeSql('started_at')}
  WHERE id = ? AND fencing_token = ? AND status = 'running'`

/** Returns a running run that has done nothing yet to the queue, where it waits until a budget opens. */
async function postponeRun(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  { budget, until }: BudgetWait,
): Promise<boolean> {
  return (await tx.run(postponeSql, until, budget, id, fencingToken)) === 1
}

/** A run that waits for a budget. */
export interface WaitingRun {
  seq: number
  id: string
  agentId: string
  spec: Omit<RunSpec, 'message'>
  /** True: it was counted when it was accepted, or when it was released before. */
  isCounted: boolean
}

const waitingSql = (exceptions: number) => `
  SELECT seq, id, agent_id AS "agentId", spec, fencing_token AS "fencingToken" FROM run
  WHERE status = 'queued' AND waits_for IS NOT NULL AND seq > ?${' AND waits_for <> ?'.repeat(exceptions)}
  ORDER BY seq LIMIT ?`

interface WaitingPage {
  after: number
  limit: number
  /** The keys of budgets whose runs are left out. */
  except: readonly string[]
}

/** The runs that wait for budgets, oldest first, those after a number. */
export async function listWaitingRuns(tx: Transaction, { after, limit, except }: WaitingPage): Promise<WaitingRun[]> {
  const sql = waitingSql(except.length)
  const rows = await tx.all<WaitingRow>(sql, after, ...except, limit)
  return rows.map(({ seq, id, agentId, spec, fencingToken }) => ({
    seq,
    id,
    agentId,
    spec: JSON.parse(spec) as WaitingRun['spec'],
    isCounted: fencingToken > 0,
  }))
}

interface WaitingRow extends Omit<WaitingRun, 'spec' | 'isCounted'> {
  spec: string
  fencingToken: number
}

const releaseSql = `
  UPDATE run SET not_before = NULL, waits_for = NULL, aside = 0
  WHERE id = ? AND status = 'queued' AND waits_for IS NOT NULL AND steps = 0
  RETURNING agent_id AS "agentId", spec, fencing_token AS "fencingToken"`

/** A run to release. */
export interface Release {
  id: string
  /** The limits in which it must have room. */
  limits: readonly RunLimit[]
}

/**
 * Lets runs start that waited for a budget. Those that have never started count as runs from now on.
 * @returns their ids, up to the first one that has no room
 */
export async function releaseWaitingRuns(
  tx: Transaction,
  releases: readonly Release[],
  at: Timestamp,
): Promise<string[]> {
  const released: string[] = []
  const add = await readRoom(
    tx,
    releases.flatMap(({ limits }) => limits),
  )
  for (const { id, limits } of releases) {
    if (!add(limits)) break
    const [run] = await tx.all<Pick<WaitingRow, 'agentId' | 'spec' | 'fencingToken'>>(releaseSql, id)
    if (!run) continue
    released.push(id)
    if (run.fencingToken > 0) continue
    const spec = JSON.parse(run.spec) as Pick<RunSpec, 'origin'>
    await countRun(tx, { agentId: run.agentId, spec }, at)
  }
  return released
}

const moveSql = `UPDATE run SET not_before = ? WHERE status = 'queued' AND waits_for IS NOT NULL AND waits_for = ?`

/** Changes how long the runs that wait for a budget are expected to wait. */
export async function moveWaitingRuns(tx: Transaction, { budget, until }: BudgetWait): Promise<number> {
  return await tx.run(moveSql, until, budget)
}
