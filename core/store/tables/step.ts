// The steps of runs: the calls of models and tools, as they are stored before and after they happen.
import { readJson } from '../../json.ts'
import type { Json, ToolEffect } from '../../plugin/plugin.ts'
import type { StepUsage } from '../run-spec.ts'
import { type AskedApprovals, createApproval } from './approval.ts'
import { type Insertion, type Row, settleAll, type Timestamp, type Transaction } from '../transaction.ts'
import { type BudgetUsage, toStepUsageRow, type UsageCount, usageInsertion } from './budget.ts'
import type { RunRef } from './run.ts'
import { type CountedRun, countUsage, type UsedCall } from './usage.ts'

export const stepWrites = { recordSteps }
export const stepReads = { listSteps, listToolErrors, readSteps, sumSubagentUsage }

/**
 * - `waiting`: a person must approve the call before it is made.
 * - `refused`: the policy or the rule of two did not allow the call, or nobody approved it.
 * - `interrupted`: the gateway ended during the call, which may have taken effect.
 */
export const stepStatuses = ['running', 'waiting', 'succeeded', 'failed', 'refused', 'interrupted'] as const
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
  usage?: StepUsage | undefined
  /** A sentence of the gateway. */
  error?: string | undefined
}

/** The facts of a call of a tool. */
export interface ToolStep {
  tool: string
  effects?: readonly ToolEffect[] | 'by-call' | undefined
  verdict?: 'allow' | 'ask' | 'deny' | undefined
  /** The rule of the policy that gave the verdict. */
  rule?: string | undefined
  /** How long the result was before it was shortened, in characters of its text or JSON. */
  resultLength?: number | undefined
}

/** What was said in a step, shortened and without secrets. */
export interface StepContent {
  /** What the model wrote. */
  text?: string
  args?: Json
  result?: Json
  /** What the model reads instead of a result. A tool's own words may quote its arguments and what it read. */
  error?: string
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

const isHeld = `id = ? AND fencing_token = ? AND status = 'running'`
const heldInsertion: Insertion = { ...stepInsertion, condition: `EXISTS (SELECT 1 FROM run WHERE ${isHeld})` }
/** A completed step starts the count of attempts without progress again. */
const progressSql = `UPDATE run SET steps = ?, last_progress = attempt WHERE ${isHeld}`
const startSql = `UPDATE run SET steps = ? WHERE ${isHeld}`

export interface StepRecord {
  steps: readonly Step[]
  /** How many steps the run has now. */
  count: number
  counted?: UsageCount | undefined
  /** The approvals for which calls of these steps wait, or messages about answered ones. */
  asked?: AskedApprovals | undefined
}

/**
 * Stores steps of a running run, or the new state of steps that are stored.
 * @returns false when the fencing token is stale and nothing was changed
 */
export async function recordSteps(
  tx: Transaction,
  { id, fencingToken }: RunRef,
  { steps, count, counted, asked }: StepRecord,
): Promise<boolean> {
  const hasProgress = steps.some(({ status }) => status !== 'running')
  const rows = steps.map((step) => toStepRow(id, step))
  const calls = steps.filter(({ kind }) => kind === 'model')
  // All are sent at once. The first locks the row of the run, so its holder cannot change before the last.
  const [held, [run], stored] = await settleAll([
    tx.run(hasProgress ? progressSql : startSql, count, id, fencingToken),
    calls.length > 0 ? tx.all<CountedRun>(countedRunSql, id) : [],
    settleAll(calls.map(({ number }) => tx.all(isStoredSql, id, number))),
    tx.insert(heldInsertion, rows, id, fencingToken),
  ])
  if (held === 0) return false
  // The call may be a repetition, because its first answer was lost.
  const added = calls.filter((_, index) => stored[index]?.length === 0)
  await settleAll([counted && countSteps(tx, counted, added), run && countUsage(tx, run, listCalls(added))])
  if (asked) await createApproval(tx, asked)
  return true
}

const isStoredSql = 'SELECT 1 FROM step WHERE run_id = ? AND number = ?'

/** The calls of the model whose usage is known. */
export const listCalls = (steps: readonly Step[]): UsedCall[] =>
  steps.flatMap(({ kind, startedAt, endedAt, detail }) =>
    kind === 'model' && detail.usage ? [{ at: endedAt ?? startedAt, model: detail.model, usage: detail.usage }] : [],
  )

const countedRunSql = 'SELECT agent_id AS "agentId", session_key AS "sessionKey", spec FROM run WHERE id = ?'

/** What the calls of the model among these steps have used. */
export function sumUsageOfSteps(steps: readonly Step[]): BudgetUsage {
  const sum = { runs: 0, tokens: 0, nanoUsd: 0 }
  for (const { kind, detail } of steps) {
    if (kind !== 'model' || !detail.usage) continue
    sum.tokens += toCount(detail.usage.totalTokens)
    sum.nanoUsd += toCount(detail.usage.costNanoUsd)
  }
  return sum
}

/** What a model's service reports may be anything. */
const toCount = (value: number | undefined): number =>
  value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : 0

/** Counts steps that were not stored before. */
export async function countSteps(tx: Transaction, counted: UsageCount, steps: readonly Step[]): Promise<void> {
  const usage = sumUsageOfSteps(steps)
  if (usage.tokens + usage.nanoUsd > 0) await tx.insert(usageInsertion, [toStepUsageRow(counted, usage)])
}

export async function insertSteps(tx: Transaction, runId: string, steps: readonly Step[]): Promise<void> {
  const rows = steps.map((step) => toStepRow(runId, step))
  await tx.insert(stepInsertion, rows)
}

const closeSql = `
  UPDATE step SET message = NULL, ended_at = coalesce(ended_at, ?),
    status = CASE status WHEN 'running' THEN 'interrupted' WHEN 'waiting' THEN 'refused' ELSE status END
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
    content: content === null ? null : (readJson(content) as StepContent),
  }) as ListedStep

const toStep = (row: StepRow): Step => {
  const { message } = row
  return { ...toListedStep(row), message: typeof message === 'string' ? (readJson(message) as Json) : null }
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

/** An error of a tool, apart from those that the agent has read. */
export interface ToolError {
  tool: string
  /** Class and message, and those of its causes. */
  message: string
}

/** An agent can call a faulty tool many times. */
const maxToolErrors = 20
const thrownSql = `
  SELECT detail, content FROM step
  WHERE run_id = ? AND kind = 'tool' AND status = 'failed' AND content LIKE '%"thrown":%' ORDER BY number LIMIT ?`

/** What the tools of a run threw, the first of them. */
export async function listToolErrors(tx: Transaction, runId: string): Promise<ToolError[]> {
  const rows = await tx.all<Pick<StepRow, 'detail'> & { content: string }>(thrownSql, runId, maxToolErrors)
  return rows.flatMap(({ detail, content }) => {
    const { thrown } = JSON.parse(content) as StepContent
    return thrown === undefined ? [] : [{ tool: (JSON.parse(detail) as ToolStep).tool, message: thrown }]
  })
}

/** Reads all steps of a run with their messages, to continue it. */
export async function readSteps(tx: Transaction, runId: string): Promise<Step[]> {
  const rows = await tx.all<StepRow>(readSql, runId)
  return rows.map(toStep)
}

/** What the runs that a run's tools started have used, and the runs that those started. */
export interface SubagentUsage {
  runs: number
  steps: number
  unpricedSteps: number
  totalTokens: number
  costNanoUsd: number
}

/** The most subagent runs whose usage is added up. */
const maxSubagents = 1000

const subagentsSql = `
  WITH RECURSIVE subagent (id) AS (
    SELECT id FROM run WHERE parent_id = ?
    UNION
    SELECT run.id FROM run JOIN subagent ON run.parent_id = subagent.id
  )
  SELECT id FROM subagent LIMIT ?`
const modelDetailsSql = `SELECT detail FROM step WHERE run_id = ? AND kind = 'model'`

export async function sumSubagentUsage(tx: Transaction, runId: string): Promise<SubagentUsage> {
  const runs = await tx.all<{ id: string }>(subagentsSql, runId, maxSubagents)
  const sum = { runs: runs.length, steps: 0, unpricedSteps: 0, totalTokens: 0, costNanoUsd: 0 }
  const details = await settleAll(runs.map(({ id }) => tx.all<{ detail: string }>(modelDetailsSql, id)))
  for (const { detail } of details.flat()) {
    const { usage } = JSON.parse(detail) as ModelStep
    if (!usage) continue
    sum.steps += 1
    sum.unpricedSteps += Number(usage.costNanoUsd === undefined)
    sum.totalTokens += usage.totalTokens
    sum.costNanoUsd += usage.costNanoUsd ?? 0
  }
  return sum
}
