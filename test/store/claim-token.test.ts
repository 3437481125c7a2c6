// A claim returns the fencing token that it has set, although another gateway recovers the row before the claim reads it.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readResult, type StoreCall, write } from '../../core/store/operations.ts'
import { connect } from '../../core/store/sqlite/connection.ts'
import { newDelivery, newRun, runEnd, start } from '../contracts/store-samples.ts'
import { temporaryFolder } from '../helpers.ts'

const claim = { owner: 'me', max: 9, at: start, leaseMs: 1000 }

it.each<[string, string, StoreCall]>([
  ['a claim of runs', 'run', ['claimRuns', [claim]]],
  ['a claim of deliveries', 'outbox', ['claimDeliveries', [claim]]],
  ['a recovery of runs', 'run', ['recoverExpiredRuns', [start + 5000]]],
  ['a recovery of deliveries', 'outbox', ['recoverExpiredDeliveries', [start + 5000]]],
])('%s', async (_what, table, call) => {
  const { tx, close } = await connect(join(temporaryFolder(), 'gateway.db'))
  const perform = async (one: StoreCall) => await readResult(tx, await write(tx, one))
  await perform(['accept', [{ at: start, runs: [newRun({ id: 'sender', sessionKey: 'agent:main:sender' })] }]])
  const [sender] = (await perform(['claimRuns', [claim]])) as { id: string; fencingToken: number }[]
  await perform(['endRun', [sender!, runEnd({ deliveries: [newDelivery()] })] as never])
  await perform(['accept', [{ at: start, runs: [newRun({ maxAttempts: 1 })] }]])
  if (call[0].startsWith('recover'))
    for (const name of ['claimRuns', 'claimDeliveries'] as const) await perform([name, [claim]])

  const written = await write(tx, call)
  const [row] = await tx.all<{ token: number }>(`SELECT fencing_token AS token FROM ${table} ORDER BY seq DESC`)
  await tx.run(`UPDATE ${table} SET fencing_token = fencing_token + 1`)
  const result = (await readResult(tx, written)) as Held[] | { exhausted: Held[] }
  const held = 'exhausted' in result ? result.exhausted : result
  expect(held.map(({ fencingToken }) => fencingToken)).toEqual([row?.token])
  await close()
})

interface Held {
  fencingToken: number
}
