// The steps of runs: the calls of models and tools, as they are stored before and after they happen.
import type { Json, ToolEffect } from '../../plugin/plugin.ts'
import type { Usage } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import type { RunRef } from './run.ts'

/** The operations of the store in this file. */
export const stepWrites = { recordSteps, purgeStepContents }
export const stepReads = { listSteps, readSteps }

/**
 * - `refused`: the policy or the rule of two did not allow the call.
 * - `interrupted`: the gateway ended during the call, which may have taken effect.
 */
export const stepStatuses = ['running', 'succeeded', 'failed', 'refused', 'interrupted'] as const
export type StepStatus = (typeof stepStatuses)[number]

/** The facts of a call of a model. */
export interface ModelStep {
  /** `<provider>/<model>`. */
  model: string
  /** From the start of the call to the first part of the answer, in milliseconds. */
  firstTokenMs?: number | undefined
  finishReason?: string | undefined
  /** The model that answered, as its service names it. */
  responseModel?: string | undefined
  usage?: Omit<Usage, 'steps'> | undefined
  error?: string | undefined
}

/** The facts of a call of a tool. */
export interface ToolStep {
  tool: string
  effects?: readonly ToolEffect[] | 'by-call' | undefined
  verdict?: 'allow' | 'deny' | undefined
  /** The rule of the policy that gave the verdict. */
  rule?: string | undefined
  /** What the model reads instead of a result. */
  error?: string | undefined
  /** The length of the result as JSON, in characters. */
  resultLength?: number | undefined
}

/** What was said in a step, shortened and without secrets. */
export interface StepContent {
  /** What the model wrote. */
  text?: string
  args?: Json
  result?: Json
  /** What a tool threw, of which the model reads nothing. */
  thrown?: string
}

interface StepOf<Kind, Detail> {
  /** From 1, in the order of the run: a call of the model, then the tool calls that it asks for. */
  number: number
  /** The attempt that made it. */
  attempt: number
  kind: Kind
  status: StepStatus
  startedAt: Timestamp
  endedAt: Timestamp | null
  detail: Detail
  /** Null: it is not kept. */
  content: StepContent | null
  /** What the model reads again when another attempt continues the run. Null once the run has ended. */
  message: Json | null
}

export type Step = StepOf<'model', ModelStep> | StepOf<'tool', ToolStep>

/** A step in a list. */
export type ListedStep = Step extends infer One ? (One extends Step ? Omit<One, 'message'> : never) : never

const stepInsertion: Insertion = {
  table: 'step',
  columns: {
    run_id: 'text',
    number: 'integer',
    attempt: 'integer',
    kind: 'text',
    status: 'text',
    started_at: 'integer',
    ended_at: 'integer',
    detail: 'text',
    content: 'text',
    message: 'text',
  },
  onConflict: `ON CONFLICT (run_id, number) DO UPDATE SET attempt = excluded.attempt, kind = excluded.kind,
    status = excluded.status, started_at = excluded.started_at, ended_at = excluded.ended_at,
    detail = excluded.detail, content = excluded.content, message = excluded.message`,
  keyColumns: 2,
}

const toStepRow = (runId: string, step: Step): Row => [
  runId,
  step.number,
  step.attempt,
  step.kind,
  step.status,
  step.startedAt,
  step.endedAt,
  JSON.stringify(step.detail),
  step.content && JSON.stringify(step.content),
  step.message === null ? null : JSON.stringify(step.message),
]

/** A completed step starts the count of attempts without progress again. */
const progressSql = `
  UPDATE run SET steps = ?, last_progress = attempt WHERE id = ? AND fencing_token = ? AND status = 'running'`
const startSql = `UPDATE run SET steps = ? WHERE id = ? AND fencing_token = ? AND status = 'running'`

/**
 * Stores steps of a running run, or the new state of steps that are stored.
 * @param count how many steps the run has now
 * @returns false when the fencing token is stale and nothing was changed
 */
export async function recordSteps(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  { steps, count }: { steps: readonly Step[]; count: number },
): Promise<boolean> {
  const hasProgress = steps.some(({ status }) => status !== 'running')
  if ((await tx.run(hasProgress ? progressSql : startSql, count, id, fencingToken)) === 0) return false
  await insertSteps(tx, id, steps)
  return true
}

export async function insertSteps(tx: Transaction, runId: string, steps: readonly Step[]): Promise<void> {
  if (steps.length > 0)
    await tx.insert(
      stepInsertion,
      steps.map((step) => toStepRow(runId, step)),
    )
}

const closeSql = `
  UPDATE step SET message = NULL, ended_at = coalesce(ended_at, ?),
    status = CASE status WHEN 'running' THEN 'interrupted' ELSE status END
  WHERE run_id = ? AND (message IS NOT NULL OR ended_at IS NULL)`

/** The run has ended: no attempt reads its messages again, and calls that have not ended never will. */
export const closeSteps = (tx: Transaction, runId: string, at: Timestamp): number | Promise<number> =>
  tx.run(closeSql, at, runId)

interface StepRow {
  number: number
  attempt: number
  kind: Step['kind']
  status: StepStatus
  startedAt: Timestamp
  endedAt: Timestamp | null
  detail: string
  content: string | null
  message?: string | null
}

const columns = `
  number, attempt, kind, status, started_at AS "startedAt", ended_at AS "endedAt", detail, content`
const listSql = `SELECT ${columns} FROM step WHERE run_id = ? AND number > ? ORDER BY number LIMIT ?`
const readSql = `SELECT ${columns}, message FROM step WHERE run_id = ? ORDER BY number`

const toListedStep = ({ detail, content, message: _message, ...row }: StepRow): ListedStep =>
  ({
    ...row,
    detail: JSON.parse(detail) as Step['detail'],
    content: content === null ? null : (JSON.parse(content) as StepContent),
  }) as ListedStep

const toStep = (row: StepRow): Step => {
  const { message } = row
  return { ...toListedStep(row), message: typeof message === 'string' ? (JSON.parse(message) as Json) : null }
}

/** Lists steps in the order of the run, those after a number. */
export async function listSteps(
  tx: Transaction,
  runId: string,
  { after = 0, limit }: { after?: number | undefined; limit: number },
): Promise<{ items: ListedStep[]; next?: number }> {
  const rows = (await tx.all<StepRow>(listSql, runId, after, limit + 1)).map(toListedStep)
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, ...(rows.length > limit && last && { next: last.number }) }
}

/** Reads all steps of a run with their messages, to continue it. */
export async function readSteps(tx: Transaction, runId: string): Promise<Step[]> {
  const rows = await tx.all<StepRow>(readSql, runId)
  return rows.map(toStep)
}

/** The most steps that are looked at in one step of the retention. */
const maxRows = 200
const windowSql = `SELECT seq, started_at AS at FROM step WHERE seq > ? ORDER BY seq LIMIT ?`
const purgeSql = `UPDATE step SET content = NULL WHERE seq > ? AND seq <= ? AND content IS NOT NULL`

/** Deletes what was said in a few of the oldest steps; the steps themselves stay as long as their run. */
export async function purgeStepContents(
  tx: Transaction,
  { before, from = 0 }: { before: Timestamp; from?: number | undefined },
): Promise<{ count: number; last: number; more: boolean }> {
  const rows = await tx.all<{ seq: number; at: Timestamp }>(windowSql, from, maxRows)
  const firstRecent = rows.findIndex(({ at }) => at >= before)
  const old = firstRecent === -1 ? rows : rows.slice(0, firstRecent)
  const last = old.at(-1)?.seq ?? from
  return { count: await tx.run(purgeSql, from, last), last, more: old.length === maxRows }
}
