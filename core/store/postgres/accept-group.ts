// Performs a group of accepts in a few statements, however many they are: the claims of their keys, then the inserts.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { claimAccept, storeAccept } from '../operations/accept.ts'
import { perform, type StoreCall } from '../operations/operations.ts'
import { type AcceptRecords, type PackedAccept, unpackAccept } from '../operations/packed-accept.ts'
import type { AcceptResult } from '../store.ts'
import { settleAll } from './database.ts'
import { createInsertBatch } from './insert-batch.ts'
import type { FindInsert } from './inserts.ts'
import type { PostgresTransaction } from './transaction.ts'

/** The group may contain other writes of one statement each. Commits. Rows are numbered in the order of the calls. */
export async function performAccepts(
  tx: PostgresTransaction,
  calls: readonly StoreCall[],
  findInsert: FindInsert,
): Promise<unknown[]> {
  const commands = calls.map(([name, args]) => (name === 'accept' ? unpackAccept(args[0] as PackedAccept) : undefined))
  const claims = await claimAll(tx, commands, findInsert)
  const batch = createInsertBatch(tx, findInsert)
  const results = calls.map((call, index) => {
    const command = commands[index]
    if (!command) return perform(batch.tx, call)
    return claims[index] ? Promise.resolve(claims[index]) : storeAccept(batch.tx, command)
  })
  batch.send()
  // An error of this process does not keep PostgreSQL from committing what it was sent.
  await Promise.race([Promise.all(results), nextTurn()])
  const [done] = await settleAll([settleAll(results), tx.commit()])
  return done
}

type Commands = readonly (AcceptRecords | undefined)[]

/** @returns the results of the commands that are not accepted */
async function claimAll(
  tx: PostgresTransaction,
  commands: Commands,
  findInsert: FindInsert,
): Promise<(AcceptResult | undefined)[]> {
  const claimed = await insertNewKeys(tx, commands, findInsert)
  let latest: Promise<unknown> = Promise.resolve()
  return await settleAll(
    commands.map((command) => {
      if (!command) return undefined
      const { idempotency, ...others } = command
      const claim = () => claimAccept(tx, idempotency && claimed.has(idempotency) ? others : command)
      if (!idempotency?.latestOnly) return claim()
      // The next command may take over the key before this one has read its reply, so each waits for the one before.
      const result = latest.then(claim)
      latest = result.catch(() => undefined)
      return result
    }),
  )
}

type Idempotency = NonNullable<AcceptRecords['idempotency']>

const insertKeySql = `
  INSERT INTO idempotency (scope, key, body_hash, expires_at, reply) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (scope, key) DO NOTHING RETURNING scope, key`

/**
 * Claims each key that has no row, for the first command that has the key. Whether another key is in use depends on the
 * time of its command.
 */
async function insertNewKeys(
  tx: PostgresTransaction,
  commands: Commands,
  findInsert: FindInsert,
): Promise<ReadonlySet<Idempotency>> {
  const first = new Map<string, Idempotency>()
  for (const command of commands) {
    const name = command?.idempotency && nameOf(command.idempotency)
    if (command?.idempotency && name !== undefined && !first.has(name)) first.set(name, command.idempotency)
  }
  const insert = findInsert(insertKeySql)
  if (first.size === 0 || !insert) return new Set()
  const rows = Array.from(first.values(), ({ scope, key, bodyHash, expiresAt, reply }) => {
    return [scope, key, bodyHash, expiresAt, reply]
  })
  const inserted = await insert.insert<Pick<Idempotency, 'scope' | 'key'>>(tx, rows)
  return new Set(inserted.flatMap((row) => first.get(nameOf(row)) ?? []))
}

const nameOf = ({ scope, key }: Pick<Idempotency, 'scope' | 'key'>): string => JSON.stringify([scope, key])
