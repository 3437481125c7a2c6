// Brings forward the retries of runs that wait for a provider, because it works again.
import type { RunResult } from '../run-spec.ts'
import type { Timestamp } from '../store.ts'
import type { Transaction } from '../transaction.ts'

const waitingSql = `
  SELECT id, result, not_before AS "notBefore" FROM run
  WHERE status = 'queued' AND retry_provider = ? ORDER BY seq LIMIT ?`
// A run is brought forward once. After that it waits for its own time.
const moveSql = 'UPDATE run SET not_before = ?, retry_provider = NULL, result = ? WHERE id = ?'

interface WaitingRow {
  id: string
  result: string
  notBefore: Timestamp
}

export async function advanceRetries(
  tx: Transaction,
  provider: string,
  times: readonly Timestamp[],
): Promise<string[]> {
  const rows = await tx.all<WaitingRow>(waitingSql, provider, times.length)
  for (const [index, { id, result, notBefore }] of rows.entries()) {
    const stored = JSON.parse(result) as RunResult
    const { earliestAt = notBefore } = stored.retry ?? {}
    const nextAt = Math.min(notBefore, Math.max(earliestAt, times[index] ?? notBefore))
    const moved = { ...stored, ...(stored.retry && { retry: { ...stored.retry, nextAt } }) }
    await tx.run(moveSql, nextAt, JSON.stringify(moved), id)
  }
  return rows.map(({ id }) => id)
}
