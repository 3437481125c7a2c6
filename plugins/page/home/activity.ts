// What happened in the last hour: loads it page by page, adds live changes, counts it by minute, and sums it up by name.
import type { Item } from '../api/client.ts'

export const hourMs = 3_600_000
const minuteMs = 60_000

/** On a busy gateway the last hour is too much to load, so that a shorter time is shown. */
const [pageSize, maxPages] = [200, 5]

export interface Recent<Row> {
  items: Row[]
  /** From when on the items are complete, in Unix milliseconds. */
  since: number
}

interface PageQuery {
  cursor: string | undefined
  limit: number
}

/** Loads the newest items, at most those of the last hour. */
export async function loadRecent<Row>(
  load: (page: PageQuery) => Promise<{ items: Row[]; next?: string | undefined }>,
  atOf: (row: Row) => string,
): Promise<Recent<Row>> {
  const from = Date.now() - hourMs
  const items: Row[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const loaded = await load({ cursor, limit: pageSize })
    items.push(...loaded.items)
    cursor = loaded.next
    const oldest = loaded.items.at(-1)
    if (cursor === undefined || (oldest && Date.parse(atOf(oldest)) < from)) {
      cursor = undefined
      break
    }
  }
  const oldest = items.at(-1)
  const since = cursor === undefined || !oldest ? from : Math.max(from, Date.parse(atOf(oldest)))
  return { items: items.filter((row) => Date.parse(atOf(row)) >= since), since }
}

/** Adds what has changed since, and drops what is too old or too much. */
export function mergeRecent<Row extends { id: string }>(
  { items, since }: Recent<Row>,
  changes: readonly Row[],
  atOf: (row: Row) => string,
): Recent<Row> {
  const newest = new Map(changes.map((row) => [row.id, row]))
  const kept = items.map((row) => newest.get(row.id) ?? row)
  for (const { id } of items) newest.delete(id)
  const merged = [...[...newest.values()].toReversed(), ...kept]
  const most = pageSize * maxPages
  const oldest = merged.length > most ? merged[most - 1] : undefined
  const from = Math.max(since, Date.now() - hourMs, oldest ? Date.parse(atOf(oldest)) : 0)
  return { items: merged.slice(0, most).filter((row) => Date.parse(atOf(row)) >= from), since: from }
}

interface CountOptions<Row> {
  at(row: Row): string
  from: number
  to: number
}

/** How many items each minute has. */
export function countByMinute<Row>(rows: readonly Row[], { at, from, to }: CountOptions<Row>) {
  const first = Math.floor(from / minuteMs)
  const length = Math.max(1, Math.floor(to / minuteMs) - first + 1)
  const counts = Array.from({ length }, () => 0)
  for (const row of rows) {
    const index = Math.floor(Date.parse(at(row)) / minuteMs) - first
    if (index >= 0 && index < length) counts[index] = (counts[index] ?? 0) + 1
  }
  return { times: counts.map((_, index) => (first + index) * 60), counts }
}

type Run = Item<'GET /api/runs'>

export const isFailed = ({ status }: Pick<Run, 'status'>): boolean => status === 'failed' || status === 'timed_out'

/** What runs have cost. Undefined: no price is known. */
export function sumCosts(runs: readonly Run[]): number | undefined {
  const costs = runs.flatMap(({ usage }) => usage?.cost ?? [])
  return costs.length > 0 ? costs.reduce((sum, cost) => sum + cost, 0) : undefined
}

/** Sums runs up by a name, those that cost most first, then those with the most tokens. */
export function summarize(runs: readonly Run[], nameOf: (run: Run) => string) {
  return [...Map.groupBy(runs, nameOf)]
    .flatMap(([name, members]) => {
      const [first] = members
      if (!first) return []
      const tokens = members.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0)
      const failed = members.filter(isFailed).length
      return [{ name, first, count: members.length, failed, tokens, cost: sumCosts(members) }]
    })
    .toSorted(
      (one, other) => (other.cost ?? 0) - (one.cost ?? 0) || other.tokens - one.tokens || other.count - one.count,
    )
}
