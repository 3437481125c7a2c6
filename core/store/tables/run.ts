// Runs as rows: inserts, reads, lists, counts and retries them.
import { isFromPerson, type RunKind, type RunResult, type RunSpec, type RunStatus } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import { countRun } from './budget.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { type Condition, listPage, mapPage, mergePages, type Page, type PageRequest } from './page.ts'

export const runWrites = { retryRun }
export const runReads = { getRun, listRuns, countQueuedRuns, countRunsStartedBy }

/** What a run waits for. */
export interface BudgetWait {
  /** The key of the budget. */
  budget: string
  until: Timestamp
}

export interface NewRun {
  id: string
  kind: RunKind
  agentId: string
  sessionKey: string
  spec: RunSpec
  maxAttempts: number
  /** Of all runs with this name, only the oldest `limit` run at once. */
  concurrencyLimit?: { name: string; limit: number } | undefined
  /** True: the session was created for this run, and no caller has named it. */
  unnamedSession?: boolean | undefined
  /** The session whose tools started it. */
  startedBy?: string | undefined
  /** Present while it waits until a budget opens. */
  waiting?: BudgetWait | undefined
}

/** Identifies the holder of a run. A stale fencing token cannot change anything. */
export interface RunRef {
  id: string
  fencingToken: number
}

/** An attempt that did not end its run. */
export interface EarlierAttempt {
  startedAt: Timestamp
  endedAt: Timestamp
  /** `interrupted`: the process died. `stopped`: the gateway was stopped. Else the error of the attempt. */
  reason: string
}

export interface StoredRun extends Omit<NewRun, 'concurrencyLimit' | 'unnamedSession' | 'startedBy'> {
  seq: number
  status: RunStatus
  attempt: number
  /** The last attempt that completed a step; 0: none did. */
  lastProgress: number
  /** How many steps of it are stored. */
  steps: number
  /** It was cancelled while it was running: whoever holds it ends it. */
  isCancelled?: true
  /** Oldest first. The latest attempt began at `startedAt`. */
  attempts: readonly EarlierAttempt[]
  fencingToken: number
  /** Until the run has ended: why its latest attempt failed, if one did. */
  result: RunResult
  createdAt: Timestamp
  startedAt: Timestamp | null
  endedAt: Timestamp | null
  /** When the run ends at the latest, if its first attempt has begun and the run has a time limit of its own. */
  deadline: Timestamp | null
}

/** A run in a list, without its message, which may be long. */
export interface ListedRun extends Omit<StoredRun, 'spec'> {
  spec: Omit<RunSpec, 'message'>
}

/** A message may be long, so that it has a column of its own: lists do not read it. */
export const runInsertion: Insertion = {
  table: 'run',
  columns: {
    id: 'text',
    kind: 'text',
    agent_id: 'text',
    session_key: 'text',
    spec: 'text',
    max_attempts: 'integer',
    created_at: 'integer',
    concurrency_key: 'text',
    concurrency_limit: 'integer',
    key_scope: 'text',
    idempotency_key: 'text',
    parent_id: 'text',
    started_by: 'text',
    message: 'text',
    from_person: 'integer',
    time_left: 'integer',
  },
}

interface InsertContext {
  at: Timestamp
  /** The idempotency key of the request that started the run. */
  idempotency?: { scope: string; key: string } | undefined
  /** The webhook request that started the run. Default: the one that is named in its spec. */
  requestId?: string | undefined
}

export const toRunRow = (run: NewRun, { at, idempotency, requestId = run.spec.requestId }: InsertContext): Row => [
  run.id,
  run.kind,
  run.agentId,
  run.sessionKey,
  JSON.stringify({ ...run.spec, requestId, message: undefined }),
  run.maxAttempts,
  at,
  run.concurrencyLimit?.name ?? null,
  run.concurrencyLimit?.limit ?? null,
  idempotency?.scope ?? null,
  idempotency?.key ?? null,
  run.spec.parentRunId ?? null,
  run.startedBy ?? null,
  run.spec.message,
  Number(isFromPerson(run.spec.origin)),
  run.spec.timeoutSeconds === undefined ? null : Math.ceil(run.spec.timeoutSeconds * 1000),
]

/** Of a run that waits for a budget. Later runs of its session may start before it. */
export const waitingRunInsertion: Insertion = {
  ...runInsertion,
  columns: { ...runInsertion.columns, not_before: 'integer', waits_for: 'text', aside: 'integer' },
}

export const toWaitingRunRow = (run: NewRun, { budget, until }: BudgetWait, context: InsertContext): Row => [
  ...toRunRow(run, context),
  until,
  budget,
  1,
]

export interface RunRow extends Omit<StoredRun, 'spec' | 'result' | 'attempts' | 'waiting' | 'isCancelled'> {
  cancelled: number
  spec: string
  message: string
  result: string
  attempts: string
  notBefore: Timestamp | null
  waitsFor: string | null
}

const listColumns = `
  seq, id, kind, agent_id AS "agentId", session_key AS "sessionKey", spec, max_attempts AS "maxAttempts", status,
  attempt, last_progress AS "lastProgress", steps, attempts, fencing_token AS "fencingToken", result,
  created_at AS "createdAt", started_at AS "startedAt", ended_at AS "endedAt", deadline, not_before AS "notBefore",
  waits_for AS "waitsFor", cancelled`
export const runColumns = `${listColumns}, message`

type ListRow = Omit<RunRow, 'message'>

const toListedRun = ({ spec, result, attempts, waitsFor, notBefore, cancelled, ...row }: ListRow): ListedRun => ({
  ...row,
  ...(cancelled === 1 && { isCancelled: true }),
  ...(waitsFor !== null && { waiting: { budget: waitsFor, until: notBefore ?? row.createdAt } }),
  spec: JSON.parse(spec) as ListedRun['spec'],
  result: JSON.parse(result) as RunResult,
  attempts: parseAttempts(attempts),
})

/**
 * Appends an entry to the column `attempts`; the placeholders are the end and the reason as JSON. Each entry is
 * followed by a comma, so that one statement can append to many runs.
 */
export const appendAttemptSql = `attempts = attempts || '[' || started_at || ',' || ? || ',' || ? || '],'`

/** Keeps what is left of the time limit, which goes on when the run is claimed again. `at`: when it stops. */
export const stopTimeSql = (at: 'started_at' | '?'): string =>
  `time_left = CASE WHEN deadline IS NULL THEN time_left ELSE deadline - ${at} END, deadline = NULL`

const parseAttempts = (text: string): EarlierAttempt[] =>
  (JSON.parse(`[${text.slice(0, -1)}]`) as [Timestamp, Timestamp, string][]).map(([startedAt, endedAt, reason]) => ({
    startedAt,
    endedAt,
    reason,
  }))

export function toRun({ message, ...row }: RunRow): StoredRun {
  const run = toListedRun(row)
  return { ...run, spec: { ...run.spec, message } }
}

const getSql = `SELECT ${runColumns} FROM run WHERE id = ?`

export async function getRun(tx: Transaction, id: string): Promise<StoredRun | undefined> {
  const [row] = await tx.all<RunRow>(getSql, id)
  return row && toRun(row)
}

export interface RunFilter {
  status?: RunStatus | undefined
  kind?: RunKind | undefined
  /** The name of the hook that started the run. */
  hook?: string | undefined
  agentId?: string | undefined
  /** Only runs of these agents. */
  agents?: readonly string[] | undefined
  sessionKey?: string | undefined
}

type ListKey = Pick<RunRow, 'seq' | 'kind' | 'agentId' | 'sessionKey' | 'status'> & { spec?: string }

const keys = 'seq, kind, agent_id AS "agentId", session_key AS "sessionKey", status'

export async function listRuns(tx: Transaction, filter: RunFilter, page: PageRequest): Promise<Page<ListedRun>> {
  const { status, kind, hook, agentId, agents, sessionKey } = filter
  const matchesKey = (key: ListKey) =>
    (!status || key.status === status) &&
    (!kind || key.kind === kind) &&
    (!hook || hookOf(key) === hook) &&
    (!agentId || key.agentId === agentId) &&
    (!agents || agents.includes(key.agentId)) &&
    (!sessionKey || key.sessionKey === sessionKey)
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined)
  const list = (where: Condition | undefined) =>
    listPage<ListKey, ListRow>(
      tx,
      {
        table: 'run',
        keys: hook ? `${keys}, spec` : keys,
        where,
        matchesKey: isFiltered ? matchesKey : undefined,
        columns: listColumns,
        sizeOf: ({ spec, result }) => spec.length + result.length,
      },
      page,
    )
  if (sessionKey === undefined) return mapPage(await list(toCondition(status)), toListedRun)
  const live = await list([`session_key = ? AND ${isLive}`, sessionKey])
  const ended = await list([`session_key = ? AND NOT (${isLive})`, sessionKey])
  return mapPage(mergePages(live, ended, page.limit), toListedRun)
}

const hookOf = ({ kind, spec = '{}' }: Pick<ListKey, 'kind' | 'spec'>): string | undefined =>
  kind === 'hook' ? (JSON.parse(spec) as Pick<RunSpec, 'origin'>).origin.name : undefined

const isLive = `status IN ('queued', 'running')`

/** Repeats the condition of the index that answers it. */
function toCondition(status: RunFilter['status']): Condition | undefined {
  if (status === 'queued' || status === 'running' || status === 'waiting') return [`status = '${status}'`]
  if (status === undefined || status === 'succeeded') return undefined
  return [`status IN ('failed', 'timed_out', 'cancelled') AND status = ?`, status]
}

const countSql = `SELECT count(*) AS n FROM run WHERE status = 'queued'`

export async function countQueuedRuns(tx: Transaction): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql)
  return row?.n ?? 0
}

const countStartedSql = `
  SELECT count(*) AS n FROM run WHERE started_by = ? AND status IN ('queued', 'running', 'waiting')`

/** Counts the unfinished runs that the tools of a session have started. */
export async function countRunsStartedBy(tx: Transaction, sessionKey: string): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countStartedSql, sessionKey)
  return row?.n ?? 0
}

interface FailedRow {
  kind: RunKind
  agentId: string
  sessionKey: string
  spec: string
  message: string
  maxAttempts: number
  result: string
  concurrencyKey: string | null
  concurrencyLimit: number | null
}

const failedSql = `
  SELECT kind, agent_id AS "agentId", session_key AS "sessionKey", spec, message, max_attempts AS "maxAttempts", result,
    concurrency_key AS "concurrencyKey", concurrency_limit AS "concurrencyLimit"
  FROM run WHERE id = ? AND status IN ('failed', 'timed_out')`
/** Compares the result that was read, so that of two concurrent callers only one retries the run. */
const markRetriedSql = 'UPDATE run SET result = ? WHERE id = ? AND result = ?'

/**
 * Queues a copy of a run that failed or timed out, as a run of its own.
 * @returns false when the run did not fail or was retried before
 */
export async function retryRun(
  tx: Transaction,
  id: string,
  retry: { id: string; at: Timestamp },
  audit?: AuditedChange,
): Promise<boolean> {
  const [row] = await tx.all<FailedRow>(failedSql, id)
  if (!row) return false
  const result = JSON.parse(row.result) as RunResult
  if (result.retriedAs !== undefined) return false
  const marked = JSON.stringify({ ...result, retriedAs: retry.id })
  if ((await tx.run(markRetriedSql, marked, id, row.result)) === 0) return false
  const { concurrencyKey: name, concurrencyLimit: limit, message } = row
  const spec: RunSpec = { ...(JSON.parse(row.spec) as Omit<RunSpec, 'message'>), message, retryOf: id }
  const concurrencyLimit = name !== null && limit !== null ? { name, limit } : undefined
  await tx.insert(runInsertion, [toRunRow({ ...row, id: retry.id, spec, concurrencyLimit }, { at: retry.at })])
  await countRun(tx, { agentId: row.agentId, spec }, retry.at)
  await recordChange(tx, audit, retry.at)
  return true
}
