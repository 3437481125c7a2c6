// Performs batches of calls on the SQLite file: all writes in one transaction, then each read. Reopens the file after a
// disk failure.
import { GatewayError } from '../../errors.ts'
import type { CallFailure, GroupOutcome } from '../group-commit.ts'
import { type StoreCall, isWrite, perform } from '../operations.ts'
import type { Transaction } from '../transaction.ts'
import { type SqliteConnection, connect, connectReadOnly, type SqliteReadConnection } from './connection.ts'
import { isDiskError, toFailure } from './failure.ts'
import { createStoreFiles, type FileIds, logLost } from './store-files.ts'

export interface Batches {
  /** Commits all groups in one transaction. An empty group only opens the file. @returns an outcome for each group */
  commit(groups: readonly (readonly StoreCall[])[]): Promise<GroupOutcome[]>
  close(): Promise<void>
}

interface Answers {
  results: Map<StoreCall, unknown>
  failures: Map<StoreCall, CallFailure>
}

/** The first batch opens the file, and so does the first batch after a disk failure: the store recovers by itself. */
export function createBatches(path: string, known?: FileIds): Batches {
  const files = createStoreFiles(path, known)
  let writer: SqliteConnection | undefined
  /** Open only while the file cannot be written, so that reads continue. */
  let reader: SqliteReadConnection | undefined

  async function commit(groups: readonly (readonly StoreCall[])[]): Promise<GroupOutcome[]> {
    const calls = groups.flat()
    const answers: Answers = { results: new Map(), failures: new Map() }
    const writes = calls.filter(isWrite)
    const opens = groups.some((group) => group.length === 0)
    const failure = opens || writes.length > 0 ? await write(writes, answers) : undefined
    for (const call of calls) if (!isWrite(call)) await read(call, answers)
    return groups.map((group) =>
      group.length === 0 && failure
        ? { unavailable: failure.reason }
        : { results: group.map((call) => answers.results.get(call)), failures: indexFailures(group, answers) },
    )
  }

  /** @returns what kept the file from being written */
  async function write(writes: readonly StoreCall[], answers: Answers): Promise<CallFailure | undefined> {
    const isAnswered = (call: StoreCall): boolean => answers.results.has(call) || answers.failures.has(call)
    try {
      // Otherwise another file would be created, and take the place of the store.
      files.assertUnmoved()
      writer ??= await openWriter()
      await writer.checkpoints.runIfDue()
      await commitWrites(writer, writes, { path, answers })
    } catch (error) {
      // The open connection has what is not in the file at the path, and reads continue with it.
      if (!isMoved()) await stopWriting()
      const failure = toFailure(error, path)
      for (const call of writes) if (!isAnswered(call)) answers.failures.set(call, failure)
      return failure
    }
    const failure = await findLoss()
    if (failure) for (const call of writes) answers.failures.set(call, failure)
    else closeReader()
    return failure
  }

  async function openWriter(): Promise<SqliteConnection> {
    const opened = await open(path)
    files.remember()
    return opened
  }

  /** Finds out whether what was committed is in files that the next start will not find. */
  async function findLoss(): Promise<CallFailure | undefined> {
    try {
      files.assertUnmoved()
      if (!files.hasLostLog()) return undefined
      await writer?.copyLog()
      await closeWriter()
      throw logLost
    } catch (error) {
      return toFailure(error, path)
    }
  }

  function isMoved(): boolean {
    try {
      files.assertUnmoved()
      return false
    } catch {
      return true
    }
  }

  async function read(call: StoreCall, { results, failures }: Answers): Promise<void> {
    try {
      const { tx } = writer ?? (reader ??= connectReadOnly(path))
      results.set(call, await perform(tx, call))
    } catch (error) {
      failures.set(call, toFailure(error, path))
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

async function open(path: string): Promise<SqliteConnection> {
  try {
    return await connect(path)
  } catch (error) {
    const { code, reason } = toFailure(error, path)
    if (error instanceof GatewayError || code === 'store_damaged') throw error
    const sentence = `The store ${path} cannot be opened: ${reason}; check that the gateway's user may read and write it.`
    throw new GatewayError('store_unavailable', sentence, { cause: error })
  }
}

const indexFailures = (group: readonly StoreCall[], { failures }: Answers): Map<number, CallFailure> =>
  new Map(
    group.flatMap((call, index) => {
      const failure = failures.get(call)
      return failure ? [[index, failure] as const] : []
    }),
  )

async function commitWrites(
  { transact, tx }: SqliteConnection,
  writes: readonly StoreCall[],
  { path, answers: { results, failures } }: { path: string; answers: Answers },
): Promise<void> {
  try {
    const committed = await transact(() => performAll(tx, writes))
    for (const [call, result] of committed) results.set(call, result)
  } catch (error) {
    if (isDiskError(error)) throw error
    // One call failed, and the rollback undid the others with it: commit each call by itself.
    for (const call of writes) {
      try {
        results.set(call, await transact(() => perform(tx, call)))
      } catch (reason) {
        if (isDiskError(reason)) throw reason
        failures.set(call, toFailure(reason, path))
      }
    }
  }
}

async function performAll(tx: Transaction, writes: readonly StoreCall[]): Promise<Map<StoreCall, unknown>> {
  const results = new Map<StoreCall, unknown>()
  for (const call of writes) results.set(call, await perform(tx, call))
  return results
}
