// Runs as rows: inserts, reads, lists, counts and retries them.
import type { RunKind, RunResult, RunSpec, RunStatus } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import { type Condition, listPage, mapPage, mergePages, type Page, type PageRequest } from './page.ts'

/** The operations of the store in this file. */
export const runWrites = { retryRun }
export const runReads = { getRun, listRuns, countQueuedRuns }

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

export interface StoredRun extends Omit<NewRun, 'concurrencyLimit' | 'unnamedSession'> {
  seq: number
  status: RunStatus
  attempt: number
  /** The last attempt that completed a step; 0: none did. */
  lastProgress: number
  /** How many steps of it are stored. */
  steps: number
  /** Oldest first. The latest attempt began at `startedAt`. */
  attempts: readonly EarlierAttempt[]
  fencingToken: number
  /** Until the run has ended: why its latest attempt failed, if one did. */
  result: RunResult
  createdAt: Timestamp
  startedAt: Timestamp | null
  endedAt: Timestamp | null
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
    message: 'text',
  },
  constants: { status: `'queued'`, attempt: '0', fencing_token: '0', result: `'{}'` },
}

interface InsertContext {
  at: Timestamp
  /** The idempotency key of the request that started the run. */
  idempotency?: { scope: string; key: string } | undefined
}

export const toRunRow = (run: NewRun, { at, idempotency }: InsertContext): Row => [
  run.id,
  run.kind,
  run.agentId,
  run.sessionKey,
  JSON.stringify({ ...run.spec, message: undefined }),
  run.maxAttempts,
  at,
  run.concurrencyLimit?.name ?? null,
  run.concurrencyLimit?.limit ?? null,
  idempotency?.scope ?? null,
  idempotency?.key ?? null,
  run.spec.message,
]

export interface RunRow extends Omit<StoredRun, 'spec' | 'result' | 'attempts'> {
  spec: string
  message: string
  result: string
  attempts: string
}

const listColumns = `
  seq, id, kind, agent_id AS "agentId", session_key AS "sessionKey", spec, max_attempts AS "maxAttempts", status,
  attempt, last_progress AS "lastProgress", steps, attempts, fencing_token AS "fencingToken", result, created_at AS "createdAt", started_at AS "startedAt",
  ended_at AS "endedAt"`
export const runColumns = `${listColumns}, message`

type ListRow = Omit<RunRow, 'message'>

const toListedRun = ({ spec, result, attempts, ...row }: ListRow): ListedRun => ({
  ...row,
  spec: JSON.parse(spec) as ListedRun['spec'],
  result: JSON.parse(result) as RunResult,
  attempts: parseAttempts(attempts),
})

/**
 * Appends an entry to the column `attempts`; the placeholders are the end and the reason as JSON. Each entry is
 * followed by a comma, so that one statement can append to many runs.
 */
export const appendAttemptSql = `attempts = attempts || '[' || started_at || ',' || ? || ',' || ? || '],'`

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
  sessionKey?: string | undefined
}

type ListKey = Pick<RunRow, 'seq' | 'kind' | 'agentId' | 'sessionKey' | 'status'> & { spec?: string }

const keys = 'seq, kind, agent_id AS "agentId", session_key AS "sessionKey", status'

export async function listRuns(tx: Transaction, filter: RunFilter, page: PageRequest): Promise<Page<ListedRun>> {
  const { status, kind, hook, agentId, sessionKey } = filter
  const matchesKey = (key: ListKey) =>
    (!status || key.status === status) &&
    (!kind || key.kind === kind) &&
    (!hook || hookOf(key) === hook) &&
    (!agentId || key.agentId === agentId) &&
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
  if (status === 'queued' || status === 'running') return [`status = '${status}'`]
  if (status === undefined || status === 'succeeded') return undefined
  return [`status IN ('failed', 'timed_out', 'cancelled') AND status = ?`, status]
}

const countSql = `SELECT count(*) AS n FROM run WHERE status = 'queued'`

export async function countQueuedRuns(tx: Transaction): Promise<number> {
  const [row] = await tx.all<{ n: number }>(countSql)
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
export async function retryRun(tx: Transaction, id: string, retry: { id: string; at: Timestamp }): Promise<boolean> {
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
  return true
}
