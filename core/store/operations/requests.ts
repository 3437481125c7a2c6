// The log of what came in: one line for each request, accepted or not.
import type { Json } from '../../plugin.ts'
import { type Condition, type Listing, listPage, mapPage } from './lists.ts'
import type {
  AcceptCommand,
  RequestFilter,
  RequestSummary,
  RequestResult,
  RequestStatus,
  NewRequest,
  NewRefusal,
  Page,
  PageRequest,
  RunStatus,
  StoredRequest,
  Timestamp,
} from '../store.ts'
import type { Transaction } from './transaction.ts'

const insertSql =
  'INSERT INTO request (id, at, hook, client, status, result, awaited, headers, query, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

interface Verdict {
  at: Timestamp
  status: RequestStatus
  result: RequestResult
  /** Whether the body is the text of an event. */
  awaited: boolean
}

async function insert(
  tx: Transaction,
  { id, hook, client, headers, query, body }: NewRequest,
  { at, status, result, awaited }: Verdict,
): Promise<void> {
  await tx.run(
    insertSql,
    id,
    at,
    hook,
    client,
    status,
    JSON.stringify(result),
    Number(awaited),
    headers,
    query ?? null,
    body,
  )
}

export async function insertRequest(tx: Transaction, request: NewRequest, command: AcceptCommand): Promise<void> {
  await insert(tx, request, {
    at: command.at,
    status: 'accepted',
    result: describeAccepted(request, command),
    awaited: command.events?.some(({ inBody }) => inBody) ?? false,
  })
}

/** What was accepted names what it led to. */
export function describeAccepted(
  { replayOf, authentication }: NewRequest,
  { runs, events }: AcceptCommand,
): RequestResult {
  return {
    ...(runs?.length && { runIds: runs.map(({ id }) => id) }),
    ...(events?.length && { eventIds: events.map(({ id }) => id) }),
    ...(replayOf !== undefined && { replayOf }),
    ...(authentication && { authentication }),
  }
}

export async function recordRefusal(tx: Transaction, refusal: NewRefusal, at: Timestamp): Promise<void> {
  await insert(tx, refusal, { at, status: refusal.status, result: describeRefused(refusal), awaited: false })
}

export const describeRefused = ({ error, reason, replayOf, authentication }: NewRefusal): RequestResult => ({
  ...(error && { error }),
  ...(reason !== undefined && { reason }),
  ...(replayOf !== undefined && { replayOf }),
  ...(authentication && { authentication }),
})

interface SummaryRow extends Omit<RequestSummary, 'result'> {
  result: string
}

type LineKey = Pick<SummaryRow, 'seq' | 'at' | 'hook' | 'status'>

/** Whether the body of a row holds the text is a column like the others. */
interface SearchedRow extends SummaryRow {
  found: number
  searched: number
}

const columns = 'seq, id, at, hook, client, status, result'

/** Bodies that one call searches. */
const searchedRows = 200

/** Requests whose runs one call looks up. */
const lookedUp = 200

export async function listRequests(
  tx: Transaction,
  filter: RequestFilter,
  page: PageRequest,
): Promise<Page<RequestSummary>> {
  const { runStatus } = filter
  if (runStatus === undefined) return await listLines(tx, filter, page)
  const { items: lines, next } = await listLines(tx, filter, { before: page.before, limit: lookedUp })
  const ids = await runsWith(tx, runStatus, lines)
  const fitting = lines.filter(({ result }) => result.runIds?.some((id) => ids.has(id)))
  const items = fitting.slice(0, page.limit)
  const goOnAt = fitting.length > items.length ? items.at(-1)?.seq : next
  return goOnAt === undefined ? { items } : { items, next: goOnAt }
}

/** Of all runs that these requests led to, those with this status. */
async function runsWith(tx: Transaction, status: RunStatus, lines: readonly RequestSummary[]): Promise<Set<string>> {
  const asked = lines.flatMap(({ result }) => result.runIds ?? [])
  const found = new Set<string>()
  for (let from = 0; from < asked.length; from += lookedUp) {
    const ids = asked.slice(from, from + lookedUp)
    const rows = await tx.all<{ id: string }>(
      `SELECT id FROM run WHERE id IN (${ids.map(() => '?').join(', ')}) AND status = ?`,
      ...ids,
      status,
    )
    for (const { id } of rows) found.add(id)
  }
  return found
}

async function listLines(tx: Transaction, filter: RequestFilter, page: PageRequest): Promise<Page<RequestSummary>> {
  const { hook, status, since = 0 } = filter
  const fits = (key: LineKey) => key.at >= since && (!hook || key.hook === hook) && (!status || key.status === status)
  const isFiltered = Object.values(filter).some((wanted) => wanted !== undefined)
  const listing = {
    table: 'request',
    keys: 'seq, at, hook, status',
    where: narrowest(filter),
    fits: isFiltered ? fits : undefined,
    ends: ({ at }: LineKey) => at < since,
    ...search(filter),
  }
  return mapPage(await listPage<LineKey, SearchedRow>(tx, listing, page), toSummary)
}

function search({
  text,
}: RequestFilter): Pick<Listing<LineKey, SearchedRow>, 'columns' | 'values' | 'matches' | 'sizeOf' | 'rows'> {
  const sizeOf = ({ result, searched }: SearchedRow) => result.length + searched
  if (text === undefined) return { columns: `${columns}, 1 AS found, 0 AS searched`, sizeOf }
  const found = `CASE WHEN lower(body) LIKE ? ESCAPE '\\' THEN 1 ELSE 0 END AS found, coalesce(octet_length(body), 0) AS searched`
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`
  return {
    columns: `${columns}, ${found}`,
    values: [pattern],
    matches: (row) => row.found === 1,
    sizeOf,
    rows: searchedRows,
  }
}

/**
 * Each repeats the condition of its index: most are accepted, most come through the two built-in hooks, and there are
 * indexes only for the others.
 */
function narrowest({ hook, status }: RequestFilter): Condition | undefined {
  if (status && status !== 'accepted') return [`status <> 'accepted' AND status = ?`, status]
  return hook === undefined || hook === 'wake' || hook === 'agent'
    ? undefined
    : [`hook NOT IN ('wake', 'agent') AND hook = ?`, hook]
}

function toSummary({ found: _found, searched: _searched, result, ...row }: SearchedRow): RequestSummary {
  return { ...row, result: JSON.parse(result) as RequestResult }
}

const getSql = `SELECT ${columns}, headers, query, body FROM request WHERE id = ?`

export async function getRequest(tx: Transaction, id: string): Promise<StoredRequest | undefined> {
  const [row] = await tx.all<StoredRow>(getSql, id)
  return (
    row && {
      ...row,
      result: JSON.parse(row.result) as RequestResult,
      headers: JSON.parse(row.headers) as Json,
      query: JSON.parse(row.query ?? '{}') as Json,
    }
  )
}

interface StoredRow extends Omit<StoredRequest, 'result' | 'headers' | 'query'>, Pick<SummaryRow, 'result'> {
  headers: string
  query: string | null
}
