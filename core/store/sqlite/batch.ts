// A batch of calls on the SQLite file: one transaction for its writes, then its reads one by one; and what happens when
// the disk fails.
import type { Outcome } from '../group-commit.ts'
import { GatewayError } from '../../errors.ts'
import { type Call, isWrite, perform } from '../operations/operations.ts'
import { type Connection, connect, connectReadOnly, type ReadConnection } from './connection.ts'
import { type Failure, failureOf, isOfTheDisk } from './failure.ts'
import type { Transaction } from '../operations/transaction.ts'

export interface Batches {
  /** One transaction for all groups. An empty group only opens the file. @returns an outcome for each */
  commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]>
  close(): Promise<void>
}

type Settled = Exclude<Outcome, { unavailable: string }>

/** A call, with its index in the batch. */
type Numbered = readonly [index: number, call: Call]

/**
 * Opens the file with the first batch, and again after a failure of the disk: it comes back by itself when the disk
 * does.
 */
export function createBatches(path: string): Batches {
  let writer: Connection | undefined
  /** Open only while the file cannot be written, so that reading goes on. */
  let reader: ReadConnection | undefined

  async function commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]> {
    const batch = [...groups.flat().entries()]
    const settled: Settled = { results: [], failures: [] }
    const writes = batch.filter(([, [name]]) => isWrite(name))
    const failure = batch.length === 0 || writes.length > 0 ? await write(writes, settled) : undefined
    if (writes.length < batch.length) for (const one of batch) if (!isWrite(one[1][0])) await read(one, settled)
    return groups.length === 1 && !failure ? [settled] : split(settled, groups, failure)
  }

  /** @returns what kept the file from being written */
  async function write(writes: readonly Numbered[], settled: Settled): Promise<Failure | undefined> {
    try {
      writer ??= await open(path)
      await writer.checkpoints.next()
      await commitTogether(writer, writes, { path, settled })
      endReading()
      return undefined
    } catch (error) {
      await stopWriting()
      const failure = failureOf(error, path)
      for (const [index] of writes) if (!isSettled(settled, index)) settled.failures.push([index, failure])
      return failure
    }
  }

  async function read([index, call]: Numbered, settled: Settled): Promise<void> {
    try {
      const { tx } = writer ?? (reader ??= connectReadOnly(path))
      settled.results[index] = await perform(tx, call)
    } catch (error) {
      settled.failures.push([index, failureOf(error, path)])
    }
  }

  /**
   * The reader opens first: the last connection that closes removes the log's index, and a full disk has no room for
   * another.
   */
  async function stopWriting(): Promise<void> {
    if (writer) unlessItFails(() => (reader ??= connectReadOnly(path)))
    await closeWriter()
  }

  async function closeWriter(): Promise<void> {
    const closing = writer
    writer = undefined
    // Closing tidies the log up, which a broken disk may refuse; the next connection recovers from what is on disk.
    await closing?.close().catch(() => undefined)
  }

  function endReading(): void {
    unlessItFails(() => reader?.close())
    reader = undefined
  }

  async function close(): Promise<void> {
    endReading()
    await closeWriter()
  }

  return { commit, close }
}

function unlessItFails(work: () => unknown): void {
  try {
    work()
  } catch {
    // The next call that needs it tries again, and reports the failure.
  }
}

async function open(path: string): Promise<Connection> {
  try {
    return await connect(path)
  } catch (error) {
    const { code, reason } = failureOf(error, path)
    if (error instanceof GatewayError || code === 'store_damaged') throw error
    throw new GatewayError('store_unavailable', `The store ${path} cannot be opened: ${reason}.`, { cause: error })
  }
}

const isSettled = ({ results, failures }: Settled, index: number): boolean =>
  index in results || failures.some(([failed]) => failed === index)

function split(
  { results, failures }: Settled,
  groups: readonly (readonly Call[])[],
  failure: Failure | undefined,
): Outcome[] {
  let start = 0
  return groups.map(({ length }) => {
    if (length === 0 && failure) return { unavailable: failure.reason }
    const [first, end] = [start, (start += length)]
    const own = failures.filter(([index]) => index >= first && index < end)
    return {
      results: results.slice(first, end),
      failures: own.map(([index, reason]) => [index - first, reason] as const),
    }
  })
}

interface Target {
  path: string
  settled: Settled
}

async function commitTogether(
  { transact, tx }: Connection,
  writes: readonly Numbered[],
  { path, settled }: Target,
): Promise<void> {
  try {
    const results = await transact(() => performAll(tx, writes))
    for (const [place, [index]] of writes.entries()) settled.results[index] = results[place]
  } catch (error) {
    if (isOfTheDisk(error)) throw error
    // One of them is at fault, or met a damaged page, and it was undone with the rest: each for itself now.
    for (const [index, call] of writes) {
      try {
        settled.results[index] = await transact(() => perform(tx, call))
      } catch (reason) {
        if (isOfTheDisk(reason)) throw reason
        settled.failures.push([index, failureOf(reason, path)])
      }
    }
  }
}

async function performAll(tx: Transaction, writes: readonly Numbered[]): Promise<unknown[]> {
  const results: unknown[] = []
  for (const [, call] of writes) results.push(await perform(tx, call))
  return results
}
