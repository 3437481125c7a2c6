// Performs batches of calls on the SQLite file: all writes in one transaction, then each read. Reopens the file after a
// disk failure.
import { GatewayError } from '../../errors.ts'
import type { Answer, Failure, Outcome } from '../group-commit.ts'
import { type Call, isWrite, perform } from '../operations/operations.ts'
import type { Transaction } from '../operations/transaction.ts'
import { type Connection, connect, connectReadOnly, type ReadConnection } from './connection.ts'
import { isDiskError, toFailure } from './failure.ts'

export interface Batches {
  /** Commits all groups in one transaction. An empty group only opens the file. @returns an outcome for each group */
  commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]>
  close(): Promise<void>
}

type Answers = Map<Call, Answer>

/** The first batch opens the file, and so does the first batch after a disk failure: the store recovers by itself. */
export function createBatches(path: string): Batches {
  let writer: Connection | undefined
  /** Open only while the file cannot be written, so that reads continue. */
  let reader: ReadConnection | undefined

  async function commit(groups: readonly (readonly Call[])[]): Promise<Outcome[]> {
    const calls = groups.flat()
    const answers: Answers = new Map()
    const writes = calls.filter(isWrite)
    const failure = writes.length > 0 || calls.length === 0 ? await write(writes, answers) : undefined
    for (const call of calls) if (!isWrite(call)) answers.set(call, await read(call))
    return groups.map((group) =>
      group.length === 0 && failure
        ? { unavailable: failure.reason }
        : { answers: group.map((call) => answers.get(call) as Answer) },
    )
  }

  /** @returns what kept the file from being written */
  async function write(writes: readonly Call[], answers: Answers): Promise<Failure | undefined> {
    try {
      writer ??= await open(path)
      await writer.checkpoints.runIfDue()
      await commitWrites(writer, writes, { path, answers })
      closeReader()
      return undefined
    } catch (error) {
      await stopWriting()
      const failure = toFailure(error, path)
      for (const call of writes) if (!answers.has(call)) answers.set(call, { failure })
      return failure
    }
  }

  async function read(call: Call): Promise<Answer> {
    try {
      const { tx } = writer ?? (reader ??= connectReadOnly(path))
      return { result: await perform(tx, call) }
    } catch (error) {
      return { failure: toFailure(error, path) }
    }
  }

  /**
   * Opens the reader before it closes the writer: the last connection to close deletes the index of the write-ahead
   * log, and on a full disk there is no space to create another.
   */
  async function stopWriting(): Promise<void> {
    if (writer) ignoreErrors(() => (reader ??= connectReadOnly(path)))
    await closeWriter()
  }

  async function closeWriter(): Promise<void> {
    const closing = writer
    writer = undefined
    // Closing truncates the log, which a broken disk may refuse. The next connection recovers from what is on disk.
    await closing?.close().catch(() => undefined)
  }

  function closeReader(): void {
    ignoreErrors(() => reader?.close())
    reader = undefined
  }

  async function close(): Promise<void> {
    closeReader()
    await closeWriter()
  }

  return { commit, close }
}

function ignoreErrors(work: () => unknown): void {
  try {
    work()
  } catch {
    // The next call that needs the connection tries again and reports the failure.
  }
}

async function open(path: string): Promise<Connection> {
  try {
    return await connect(path)
  } catch (error) {
    const { code, reason } = toFailure(error, path)
    if (error instanceof GatewayError || code === 'store_damaged') throw error
    throw new GatewayError('store_unavailable', `The store ${path} cannot be opened: ${reason}.`, { cause: error })
  }
}

async function commitWrites(
  { transact, tx }: Connection,
  writes: readonly Call[],
  { path, answers }: { path: string; answers: Answers },
): Promise<void> {
  try {
    const results = await transact(() => performAll(tx, writes))
    for (const [call, result] of results) answers.set(call, { result })
  } catch (error) {
    if (isDiskError(error)) throw error
    // One call failed, and the rollback undid the others with it: commit each call by itself.
    for (const call of writes) {
      try {
        answers.set(call, { result: await transact(() => perform(tx, call)) })
      } catch (reason) {
        if (isDiskError(reason)) throw reason
        answers.set(call, { failure: toFailure(reason, path) })
      }
    }
  }
}

async function performAll(tx: Transaction, writes: readonly Call[]): Promise<Map<Call, unknown>> {
  const results = new Map<Call, unknown>()
  for (const call of writes) results.set(call, await perform(tx, call))
  return results
}
