// Runs as rows: inserts, reads, lists, counts and retries them.
import type { RunKind, RunResult, RunSpec } from '../run-spec.ts'
import type { ListedRun, NewRun, Page, PageRequest, RunFilter, StoredRun, Timestamp } from '../store.ts'
import { type Condition, listPage, mapPage, mergePages } from './lists.ts'
import type { Transaction } from '../transaction.ts'

const insertSql = `
  INSERT INTO run (
    id, kind, agent_id, session_key, spec, max_attempts, created_at, concurrency_key, concurrency_limit, key_scope,
    idempotency_key, message, status, attempt, fencing_token, result)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, '{}')`

interface InsertContext {
  at: Timestamp
  /** The idempotency key of the request that started the run. */
  idempotency?: { scope: string; key: string } | undefined
}

/** A new run as it is stored, with its spec as text. */
export interface RunRecord extends Omit<NewRun, 'spec'> {
  spec: string
  message: string
}

/** A message may be long, so that it has a column of its own: lists do not read it. */
export const splitSpec = (spec: RunSpec): Pick<RunRecord, 'spec' | 'message'> => ({
  spec: JSON.stringify({ ...spec, message: undefined }),
  message: spec.message,
})

export async function insertRun(tx: Transaction, run: RunRecord, { at, idempotency }: InsertContext): Promise<void> {
  await tx.run(
    insertSql,
    run.id,
    run.kind,
    run.agentId,
    run.sessionKey,
    run.spec,
    run.maxAttempts,
    at,
    run.concurrencyLimit?.name ?? null,
    run.concurrencyLimit?.limit ?? null,
    idempotency?.scope ?? null,
    idempotency?.key ?? null,
    run.message,
  )
}

export interface RunRow extends Omit<StoredRun, 'spec' | 'result'> {
  spec: string
  message: string
  result: string
}

const listColumns = `
  seq, id, kind, agent_id AS "agentId", session_key AS "sessionKey", spec, max_attempts AS "maxAttempts", status,
  attempt, fencing_token AS "fencingToken", result, created_at AS "createdAt", started_at AS "startedAt",
  ended_at AS "endedAt"`
export const runColumns = `${listColumns}, message`

type ListRow = Omit<RunRow, 'message'>

const toListedRun = ({ spec, result, ...row }: ListRow): ListedRun => ({
  ...row,
  spec: JSON.parse(spec) as ListedRun['spec'],
  result: JSON.parse(result) as RunResult,
})

export function toRun({ message, ...row }: RunRow): StoredRun {
  const run = toListedRun(row)
  return { ...run, spec: { ...run.spec, message } }
}

const getSql = `SELECT ${runColumns} FROM run WHERE id = ?`

export async function getRun(tx: Transaction, id: string): Promise<StoredRun | undefined> {
  const [row] = await tx.all<RunRow>(getSql, id)
  return row && toRun(row)
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
  await insertRun(tx, { ...row, id: retry.id, ...splitSpec(spec), concurrencyLimit }, { at: retry.at })
  return true
}
