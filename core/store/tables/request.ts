// The request log: one row for each webhook request, accepted or not.
import type { Json } from '../../plugin/plugin.ts'
import type { RunStatus } from '../run-spec.ts'
import { type Insertion, type Row, settleAll, type Timestamp, type Transaction } from '../transaction.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { type Condition, type Listing, listPage, mapPage, type Page, type PageRequest } from './page.ts'

export const requestWrites = { recordRefusal }
export const requestReads = { listRequests, getRequest }

export interface NewRequest {
  id: string
  hook: string
  client: string
  /** A JSON object, redacted by the caller. It crosses to the store's thread as text, which costs half as much. */
  headers: string
  /** The query string as a JSON object, redacted by the caller; absent when there was none. */
  query?: string | undefined
  /** The raw body; null when the request was refused before its body was read. */
  body: string | null
  /** The id of the request that an operator replayed. */
  replayOf?: string | undefined
  /** The agents for which it starts something. */
  agents?: readonly string[] | undefined
  /** Absent: the sender presented the hook token, or an operator replayed the request. */
  authentication?: Authentication | undefined
}

/** How a sender proved its identity. */
export interface Authentication {
  scheme: string
  /** The index of the secret among the mapping's secrets; absent if the scheme has none. */
  secret?: number | undefined
}

export type RequestStatus = 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'

/** A request that started nothing, and why. */
export interface NewRefusal extends NewRequest {
  status: Exclude<RequestStatus, 'accepted'>
  error?: { type: string; message: string; detail?: string } | undefined
  /** Why a request was skipped, if no transform or preset decided it. */
  reason?: SkipReason | undefined
  /** With the reason `skip`. */
  skippedBy?: SkippedBy | undefined
  /** The sender was not authenticated. */
  isUnauthenticated?: true | undefined
  /** The record stands for so many requests. Absent: for one. */
  count?: number | undefined
  /** Who made the request, for the audit log. */
  audit?: AuditedChange | undefined
}

/** It was a verification request of the sender, or met the conditions in the key `skip` of its mapping. */
export type SkipReason = 'handshake' | 'skip'

export interface SkippedBy {
  /** The id of the mapping. */
  mapping: string
  /** The index of the conditions in `skip`. */
  rule: number
}

/** What a request led to. */
export interface RequestResult {
  runIds?: readonly string[] | undefined
  eventIds?: readonly string[] | undefined
  error?: { type: string; message: string; detail?: string } | undefined
  reason?: SkipReason | undefined
  skippedBy?: SkippedBy | undefined
  isUnauthenticated?: true | undefined
  count?: number | undefined
  replayOf?: string | undefined
  /** The agents for which it started something. */
  agents?: readonly string[] | undefined
  authentication?: Authentication | undefined
}

/** A request in a list, without its headers and its body. */
export interface RequestSummary extends Pick<NewRequest, 'id' | 'hook' | 'client'> {
  seq: number
  at: Timestamp
  status: RequestStatus
  result: RequestResult
}

export interface StoredRequest extends RequestSummary, Pick<NewRequest, 'body'> {
  headers: Json
  query: Json
}

export const requestInsertion: Insertion = {
  table: 'request',
  columns: {
    id: 'text',
    at: 'integer',
    hook: 'text',
    client: 'text',
    status: 'text',
    result: 'text',
    awaited: 'integer',
    headers: 'text',
    query: 'text',
    body: 'text',
  },
}

interface Verdict {
  at: Timestamp
  status: RequestStatus
  result: RequestResult
  /** True: the body holds the text of an event and must be kept until the event is rendered. */
  isAwaited: boolean
}

const toRow = (
  { id, hook, client, headers, query, body }: NewRequest,
  { at, status, result, isAwaited }: Verdict,
): Row => [id, at, hook, client, status, JSON.stringify(result), Number(isAwaited), headers, query ?? null, body]

/** What a request started. */
interface AcceptedWork {
  at: Timestamp
  events?: readonly { id: string; inBody?: boolean }[] | undefined
  runs?: readonly { id: string }[] | undefined
}

export const toAcceptedRow = (request: NewRequest, work: AcceptedWork): Row =>
  toRow(request, {
    at: work.at,
    status: 'accepted',
    result: describeAccepted(request, work),
    isAwaited: work.events?.some(({ inBody }) => inBody) ?? false,
  })

/** The result of an accepted request names what it started. */
export const describeAccepted = (
  { replayOf, agents, authentication }: NewRequest,
  { runs, events }: Omit<AcceptedWork, 'at'>,
): RequestResult => ({
  runIds: idsOf(runs),
  eventIds: idsOf(events),
  replayOf,
  agents: agents?.length ? agents : undefined,
  authentication,
})

const idsOf = (records: readonly { id: string }[] | undefined): string[] | undefined =>
  records?.length ? records.map(({ id }) => id) : undefined

/** Logs a request that started nothing. */
export async function recordRefusal(tx: Transaction, refusal: NewRefusal, at: Timestamp): Promise<void> {
  const { status } = refusal
  const row = toRow(refusal, { at, status, result: describeRefused(refusal), isAwaited: false })
  await settleAll([tx.insert(requestInsertion, [row]), recordChange(tx, refusal.audit, at)])
}

export const describeRefused = ({
  error,
  reason,
  skippedBy,
  isUnauthenticated,
  count,
  replayOf,
  authentication,
}: NewRefusal): RequestResult => ({ error, reason, skippedBy, isUnauthenticated, count, replayOf, authentication })

export interface RequestFilter {
  hook?: string | undefined
  status?: RequestStatus | undefined
  /** At least one run of the request has this status. */
  runStatus?: RunStatus | undefined
  since?: Timestamp | undefined
  /** Text that the body contains. Case is ignored. */
  text?: string | undefined
  /** Only requests that started something for one of these agents, and with `text` for no other. */
  agents?: readonly string[] | undefined
}

interface SummaryRow extends Omit<RequestSummary, 'result'> {
  result: string
}

type SummaryKey = Pick<SummaryRow, 'seq' | 'at' | 'hook' | 'status'>

interface SearchedRow extends SummaryRow {
  /** 1: the body contains the text. */
  found: number
  /** The bytes of the body that was searched. */
  searched: number
}

const columns = 'seq, id, at, hook, client, status, result'

/** The most bodies that one call searches. */
const maxSearchedBodies = 200

/** The most requests whose runs one call looks up. */
const maxLookups = 200

export async function listRequests(
  tx: Transaction,
  filter: RequestFilter,
  page: PageRequest,
): Promise<Page<RequestSummary>> {
  const { runStatus } = filter
  if (runStatus === undefined) return await listSummaries(tx, filter, page)
  const { items: summaries, next } = await listSummaries(tx, filter, { before: page.before, limit: maxLookups })
  const ids = await findRunIds(tx, runStatus, summaries)
  const matching = summaries.filter(({ result }) => result.runIds?.some((id) => ids.has(id)))
  const items = matching.slice(0, page.limit)
  const nextSeq = matching.length > items.length ? items.at(-1)?.seq : next
  return nextSeq === undefined ? { items } : { items, next: nextSeq }
}

/** The ids of those runs of the requests that have the status. */
async function findRunIds(
  tx: Transaction,
  status: RunStatus,
  summaries: readonly RequestSummary[],
): Promise<Set<string>> {
  const runIds = summaries.flatMap(({ result }) => result.runIds ?? [])
  const found = new Set<string>()
  for (let from = 0; from < runIds.length; from += maxLookups) {
    const ids = runIds.slice(from, from + maxLookups)
    const placeholders = ids.map(() => '?').join(', ')
    const sql = `SELECT id FROM run WHERE id IN (${placeholders}) AND status = ?`
    for (const { id } of await tx.all<{ id: string }>(sql, ...ids, status)) found.add(id)
  }
  return found
}

async function listSummaries(tx: Transaction, filter: RequestFilter, page: PageRequest): Promise<Page<RequestSummary>> {
  const { since = 0, ...others } = filter
  const { hook, status } = others
  const matchesKey = (key: SummaryKey) =>
    key.at >= since && (!hook || key.hook === hook) && (!status || key.status === status)
  const isFiltered = Object.values(others).some((wanted) => wanted !== undefined)
  const listing = {
    table: 'request',
    keys: 'seq, at, hook, status',
    where: toCondition(filter),
    matchesKey: isFiltered || since > 0 ? matchesKey : undefined,
    isPastEnd: ({ at }: SummaryKey) => at < since,
    // Requests are in the order of their times, so that a time alone leaves no row of the window out but the oldest.
    ...(!isFiltered && { windowRows: page.limit + 1 }),
    ...searchBodies(filter),
  }
  return mapPage(await listPage<SummaryKey, SearchedRow>(tx, listing, page), toSummary)
}

function searchBodies({
  text,
  agents,
}: RequestFilter): Pick<
  Listing<SummaryKey, SearchedRow>,
  'columns' | 'values' | 'matchesRow' | 'sizeOf' | 'windowRows'
> {
  const sizeOf = ({ result, searched }: SearchedRow) => result.length + searched
  const isOfAgents = ({ result }: SearchedRow): boolean => {
    if (!agents) return true
    const all = (JSON.parse(result) as RequestResult).agents ?? []
    const isOne = (id: string): boolean => agents.includes(id)
    // Whether a text is found says what the body holds for the other agents.
    return text === undefined ? all.some(isOne) : all.length > 0 && all.every(isOne)
  }
  const matchesRow = (row: SearchedRow): boolean => row.found === 1 && isOfAgents(row)
  const windowRows = maxSearchedBodies
  if (text === undefined)
    return {
      columns: `${columns}, 1 AS found, 0 AS searched`,
      sizeOf,
      ...(agents && { matchesRow, windowRows }),
    }
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`
  return {
    columns: `${columns}, CASE WHEN lower(body) LIKE ? ESCAPE '\\' THEN 1 ELSE 0 END AS found,
      coalesce(octet_length(body), 0) AS searched`,
    values: [pattern],
    matchesRow,
    sizeOf,
    windowRows,
  }
}

/**
 * Repeats the condition of the index that answers it. The indexes leave out what most requests have in common: that
 * they are accepted, and that they come through the two built-in hooks.
 */
function toCondition({ hook, status }: RequestFilter): Condition | undefined {
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
  const [row] = await tx.all<RequestRow>(getSql, id)
  return (
    row && {
      ...row,
      result: JSON.parse(row.result) as RequestResult,
      headers: JSON.parse(row.headers) as Json,
      query: JSON.parse(row.query ?? '{}') as Json,
    }
  )
}

interface RequestRow extends Omit<StoredRequest, 'result' | 'headers' | 'query'>, Pick<SummaryRow, 'result'> {
  headers: string
  query: string | null
}
