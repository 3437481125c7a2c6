// Performs a group of accepts in a few statements, however many they are: the claims of their keys, then the inserts.
import { accepted, type AcceptCommand, claimAll, insertAll } from '../accept.ts'
import { perform, type StoreCall } from '../operations.ts'
import { settleAll } from '../settle-all.ts'
import type { PostgresTransaction } from './transaction.ts'

/**
 * Performs the calls and commits. The group may contain other writes of one statement each, which is sent at once. Rows
 * are numbered in the order of the calls.
 */
export async function performAccepts(tx: PostgresTransaction, calls: readonly StoreCall[]): Promise<unknown[]> {
  const commands = calls.flatMap((call) => (call[0] === 'accept' ? call[1] : []))
  const refusals = await claimAll(tx, commands)
  const results = new Map<AcceptCommand, unknown>(commands.map((command, index) => [command, refusals[index]]))
  const inserts = insertAll(
    tx,
    commands.filter((command) => results.get(command) === undefined),
  )
  const performed = calls.map((call) =>
    call[0] === 'accept' ? (results.get(call[1][0]) ?? accepted) : perform(tx, call),
  )
  const [done] = await settleAll([settleAll(performed), settleAll(inserts), tx.commit()])
  return done
}
