// The probe, which checks that writes are committed.
import { randomBytes, randomUUID } from 'node:crypto'
import { insertAll, toAcceptRows } from './accept.ts'
import { writeProbeRow } from './tables/state.ts'
import { settleAll, type Transaction } from './transaction.ts'

export const probeWrites = { probe }

/**
 * Resolves when a write would be committed. Rejects with `store_unavailable` if not.
 * @param isThorough writes what an accepted request writes, too, and deletes it again. A disk that is full may have room
 * for a row that is changed in its place, and a role may be allowed to write some tables only.
 */
async function probe(tx: Transaction, isThorough = false): Promise<void> {
  const sent: unknown[] = [writeProbeRow(tx)]
  if (isThorough) sent.push(...tryToAccept(tx))
  await settleAll(sent)
}

/** Compression must not save the disk from storing it. */
const bodyBytes = 6_000

/** All statements are given to the transaction before this returns. Nobody else sees the rows. */
function tryToAccept(tx: Transaction): unknown[] {
  const id = `probe ${randomUUID()}`
  const origin = { kind: 'hook', name: 'probe', trusted: true } as const
  const spec = { message: '', origin, deliver: null, wakeMode: 'next-heartbeat' } as const
  const [at, rows] = toAcceptRows({
    at: 0,
    request: { id, hook: 'probe', client: '', headers: '{}', body: randomBytes(bodyBytes).toString('base64') },
    events: [{ id, sessionKey: id, text: '', mode: 'next-heartbeat', source: 'probe', trusted: true }],
    runs: [{ id, kind: 'hook', agentId: '', sessionKey: id, spec, maxAttempts: 1, unnamedSession: true }],
    deliveries: [
      {
        id,
        runId: id,
        channel: 'probe',
        accountId: '',
        to: '',
        threadId: null,
        route: null,
        text: '',
        status: 'pending',
        reason: null,
      },
    ],
  })
  const inserted = insertAll(tx, [[at, rows, []]])
  return [...inserted, ...deletions.map((sql) => tx.run(sql, id))]
}

const deletions = [
  'DELETE FROM request WHERE id = ?',
  'DELETE FROM event WHERE session_key = ? AND run_id IS NULL',
  'DELETE FROM run WHERE id = ?',
  'DELETE FROM outbox WHERE id = ?',
]
