// The log of what came in: one line for each request, accepted or not.
import type { Json } from '../plugin.ts'
import { type Condition, type Listing, listPage, mapPage } from './lists.ts'
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
  return mapPage(await listPage(tx, { ...search(filter), where: narrowest(filter), fits }, page), toLine)
}

/** Whether a body holds the text is a column like the others. */
function search({ text }: DeliveryFilter): Pick<Listing<LineRow>, 'select' | 'values' | 'rows'> {
  const select = (found: string) => `SELECT ${columns}, ${found} AS found FROM delivery`
  if (text === undefined) return { select: select('1') }
  const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`
  return { select: select(`CASE WHEN lower(body) LIKE ? ESCAPE '\\' THEN 1 ELSE 0 END`), values: [pattern], rows: searchedRows }
}

/** Most are accepted, so that there is an index only for the others. */
function narrowest({ hook, status }: DeliveryFilter): Condition | undefined {
  if (status && status !== 'accepted') return [`status <> 'accepted' AND status = ?`, status]
  return hook === undefined ? undefined : ['hook = ?', hook]
}

function toLine({ found: _found, result, ...row }: LineRow): DeliveryLine {
  return { ...row, result: JSON.parse(result) as DeliveryResult }
}

const getSql = `SELECT ${columns}, headers, body FROM delivery WHERE id = ?`

export async function getDelivery(tx: Transaction, id: string): Promise<StoredDelivery | undefined> {
  const [row] = await tx.all<Omit<StoredDelivery, 'result' | 'headers'> & { result: string; headers: string }>(getSql, id)
  return row && { ...row, result: JSON.parse(row.result) as DeliveryResult, headers: JSON.parse(row.headers) as Json }
}
