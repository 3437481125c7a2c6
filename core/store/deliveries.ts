// The log of what came in: one line for each request, accepted or not.
import type { Json } from '../plugin.ts'
import { listPage, type Window } from './lists.ts'
import type {
  AcceptCommand,
  DeliveryFilter,
  DeliveryLine,
  DeliveryResult,
  DeliveryStatus,
  NewDelivery,
  NewRefusal,
  Page,
  PageRequest,
  StoredDelivery,
  Timestamp,
} from './store.ts'
import type { Transaction } from './transaction.ts'

const insertSql = 'INSERT INTO delivery (id, at, hook, client, status, result, headers, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'

interface Verdict {
  at: Timestamp
  status: DeliveryStatus
  result: DeliveryResult
}

async function insert(tx: Transaction, { id, hook, client, headers, body }: NewDelivery, { at, status, result }: Verdict): Promise<void> {
  await tx.run(insertSql, id, at, hook, client, status, JSON.stringify(result), JSON.stringify(headers), body)
}

/** The line of a request that was accepted names what it led to. */
export async function insertDelivery(tx: Transaction, delivery: NewDelivery, { at, runs, events }: AcceptCommand): Promise<void> {
  const result = {
    ...(runs?.length && { runIds: runs.map(({ id }) => id) }),
    ...(events?.length && { eventIds: events.map(({ id }) => id) }),
    ...(delivery.replayOf !== undefined && { replayOf: delivery.replayOf }),
  }
  await insert(tx, delivery, { at, status: 'accepted', result })
}

export async function recordRefusal(tx: Transaction, refusal: NewRefusal, at: Timestamp): Promise<void> {
  const { status, error, replayOf } = refusal
  await insert(tx, refusal, { at, status, result: { ...(error && { error }), ...(replayOf !== undefined && { replayOf }) } })
}

interface LineRow extends Omit<DeliveryLine, 'result'> {
  result: string
  found: number
}

const columns = 'seq, id, at, hook, client, status, result'

/** Bodies that one call searches. */
const searchedRows = 200

export async function listDeliveries(tx: Transaction, filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryLine>> {
  const { hook, status, since = 0 } = filter
  const fits = (row: LineRow) => row.found === 1 && row.at >= since && (!hook || row.hook === hook) && (!status || row.status === status)
  const { items, next } = await listPage<LineRow>(tx, windowOf(filter), page, fits)
  const lines = items.map(({ found: _found, ...row }) => ({ ...row, result: JSON.parse(row.result) as DeliveryResult }))
  return next === undefined ? { items: lines } : { items: lines, next }
}

function windowOf({ hook, status, text }: DeliveryFilter): Window {
  const found = text === undefined ? '1' : `CASE WHEN lower(body) LIKE ? ESCAPE '\\' THEN 1 ELSE 0 END`
  const window = { select: `SELECT ${columns}, ${found} AS found FROM delivery`, where: narrowest({ hook, status }) }
  return text === undefined ? window : { ...window, values: [`%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`], rows: searchedRows }
}

/** Most are accepted, so that there is an index only for the others. */
function narrowest({ hook, status }: Pick<DeliveryFilter, 'hook' | 'status'>): Window['where'] {
  if (status && status !== 'accepted') return [`status <> 'accepted' AND status = ?`, status]
  return hook === undefined ? undefined : ['hook = ?', hook]
}

const getSql = `SELECT ${columns}, headers, body FROM delivery WHERE id = ?`

export async function getDelivery(tx: Transaction, id: string): Promise<StoredDelivery | undefined> {
  const [row] = await tx.all<Omit<StoredDelivery, 'result' | 'headers'> & { result: string; headers: string }>(getSql, id)
  return row && { ...row, result: JSON.parse(row.result) as DeliveryResult, headers: JSON.parse(row.headers) as Json }
}
