// A batch of calls on the SQLite file: one transaction for all of them, and what happens when it fails.
import { GatewayError } from '../errors.ts'
import type { Outcome } from './group-commit.ts'
import { type Call, isWrite, perform as performPlain } from './operations.ts'
import { type PackedAccept, unpackAccept } from './packed-accept.ts'
import { type Connection, connect } from './sqlite-connection.ts'
import type { Transaction } from './transaction.ts'

export interface Batches {
  /** One transaction for all groups. @returns an outcome for each */
  commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]>
  close(): Promise<void>
}

/** Opens the file with the first batch, and again after a failure of the disk: it comes back by itself when the disk does. */
export function createBatches(path: string): Batches {
  let connection: Connection | undefined

  async function commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]> {
    try {
      connection ??= await open(path)
      await connection.checkpoints.next()
      return split(await commitTogether(connection, groups.flat()), groups)
    } catch (error) {
      await close()
      const outcome = { unavailable: reasonOf(error) }
      return groups.map(() => outcome)
    }
  }

  async function close(): Promise<void> {
    try {
      await connection?.close()
    } catch {
      // Closing tidies the log up, which a broken disk may refuse; the next connection recovers from what is on disk.
    }
    connection = undefined
  }

  return { commit, close }
}

async function open(path: string): Promise<Connection> {
  try {
    return await connect(path)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('store_unavailable', `The store ${path} cannot be opened: ${reasonOf(error)}.`, { cause: error })
  }
}

type Settled = Exclude<Outcome, { unavailable: string }>

function split({ results, failures }: Settled, groups: readonly (readonly Call[])[]): Settled[] {
  let start = 0
  return groups.map(({ length }) => {
    const [first, end] = [start, (start += length)]
    const own = failures.filter(([index]) => index >= first && index < end)
    return { results: results.slice(first, end), failures: own.map(([index, reason]) => [index - first, reason] as const) }
  })
}

async function commitTogether(connection: Connection, batch: readonly Call[]): Promise<Settled> {
  if (!batch.some(([name]) => isWrite(name))) return settleEach(batch, (call) => perform(connection.tx, call))
  try {
    return { results: await connection.transact(() => performAll(connection, batch)), failures: [] }
  } catch (error) {
    if (isOfTheDisk(error)) throw error
    // One of them is at fault, and it was undone with the rest: each for itself now.
    return settleEach(batch, (call) => connection.transact(() => perform(connection.tx, call)))
  }
}

/** Accepts come packed. */
const perform = (tx: Transaction, [name, args]: Call): Promise<unknown> =>
  performPlain(tx, [name, name === 'accept' ? [unpackAccept(args[0] as PackedAccept)] : args])

async function performAll({ tx }: Connection, batch: readonly Call[]): Promise<unknown[]> {
  const results: unknown[] = []
  for (const call of batch) results.push(await perform(tx, call))
  return results
}

async function settleEach(batch: readonly Call[], settle: (call: Call) => Promise<unknown>): Promise<Settled> {
  const results: unknown[] = []
  const failures: [index: number, reason: string][] = []
  for (const [index, call] of batch.entries()) {
    try {
      results[index] = await settle(call)
    } catch (error) {
      if (isOfTheDisk(error)) throw error
      failures.push([index, reasonOf(error)])
    }
  }
  return { results, failures }
}

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB: not the call's fault, and not over with it. */
const diskErrors = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 26])

const isOfTheDisk = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && diskErrors.has(error.errcode & 0xff)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
