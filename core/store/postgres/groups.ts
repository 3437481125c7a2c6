// Performs groups of calls on the PostgreSQL database: each group in one transaction.
import { type AcceptCommand, accepted, claimAll, insertAll, toAcceptRows } from '../accept.ts'
import type { CallFailure, GroupOutcome } from '../group-commit.ts'
import { isWrite, type OperationName, perform, readResult, type StoreCall, write } from '../operations.ts'
import { settleAll, type Transaction } from '../transaction.ts'
import type { RunLimit } from '../tables/budget.ts'
import type { Database, Lane } from './database.ts'
import { isConflict, isReplaced, isUnavailable, toFailure } from './failure.ts'
import { lockNumberOf } from './migrate.ts'
import type { PostgresTransaction } from './transaction.ts'

/**
 * Writes that several gateways may do at the same time, also while one of them claims. They take new rows and a few
 * known ones. All other writes are done one group at a time over all gateways, as in an embedded store: that makes
 * claims and limits exact.
 */
const concurrentWrites: ReadonlySet<OperationName> = new Set([
  'accept',
  'recordRefusal',
  'recordAudit',
  'probe',
  'renewRun',
  'recordSteps',
  'acquireLease',
  'releaseLease',
])

export const laneOf = (call: StoreCall): Lane => {
  if (!isWrite(call)) return 'reads'
  // Approvals and their messages are further statements, which depend on the first one.
  const asks = call[0] === 'recordSteps' && call[1][1].asked !== undefined
  return concurrentWrites.has(call[0]) && !asks ? 'accepts' : 'work'
}

/** How often a transaction is repeated that conflicted with another one. */
const maxTries = 3

interface GroupsOptions {
  /** Identifies this store and its locks. */
  storeId: number
  /** Called if the tables are no longer those of this store. Nothing was written then. */
  onReplaced(): void
}

export function createGroups(database: Pick<Database, 'transact'>, { storeId, onReplaced }: GroupsOptions) {
  const performIn: Record<Lane, (tx: PostgresTransaction, calls: readonly StoreCall[]) => Promise<unknown[]>> = {
    reads: performTogether,
    work: async (tx, calls) => {
      const written = await withLocks(tx, calls, writeInOrder)
      return await tx.commitAndRead((reader) => settleAll(written.map((result) => readResult(reader, result))))
    },
    accepts: (tx, calls) => withLocks(tx, calls, performAccepts),
  }
  const lock = lockNumberOf(storeId)
  // Fails if the tables were restored or created anew, because the locks are those of the old ones. Until the
  // transaction ends, they cannot be dropped.
  const check = `1 / ('migration'::regclass::oid::bigint = ${storeId})::int`
  const hold = 'LOCK TABLE migration IN ACCESS SHARE MODE'
  const begin: Record<Lane, string> = {
    // Operations may read in several statements, which must agree with each other.
    reads: `BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; ${hold}; SELECT ${check}`,
    // Two numbers and one number are different kinds of locks. Number 0 keeps away copies, number 2 other groups.
    work:
      `BEGIN; ${hold}; ` +
      `SELECT pg_advisory_xact_lock_shared(${lock}, 0), pg_advisory_xact_lock(${lock}, 2); SELECT ${check}`,
    accepts: `BEGIN; ${hold}; SELECT pg_advisory_xact_lock_shared(${lock}, 0); SELECT ${check}`,
  }

  /** The locks and the first statements are sent together. */
  async function withLocks(
    tx: PostgresTransaction,
    calls: readonly StoreCall[],
    performAll: (tx: PostgresTransaction, calls: readonly StoreCall[]) => Promise<unknown[]>,
  ): Promise<unknown[]> {
    const rows = [...new Set(calls.flatMap(rowsOf))]
    const locked = rows.length > 0 && tx.all(rowLocksSql, storeId, JSON.stringify(rows))
    const [, results] = await settleAll([locked, performAll(tx, calls)])
    return results
  }

  async function performGroup(lane: Lane, calls: readonly StoreCall[]): Promise<unknown[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await database.transact(lane, { begin: begin[lane], work: (tx) => performIn[lane](tx, calls) })
      } catch (error) {
        if (!isConflict(error) || tries === maxTries) throw error
      }
    }
  }

  /** Commits a group whose calls are all of this lane. */
  return async function commit(lane: Lane, calls: readonly StoreCall[]): Promise<GroupOutcome> {
    try {
      return { results: await performGroup(lane, calls), failures: new Map() }
    } catch (error) {
      if (isReplaced(error)) onReplaced()
      if (calls.length === 1 || isUnavailable(error))
        return { results: [], failures: new Map(calls.map((_, index) => [index, toFailure(error)])) }
    }
    // One call failed, and the rollback undid the others with it: commit each call by itself.
    const results: unknown[] = []
    const failures = new Map<number, CallFailure>()
    for (const [index, call] of calls.entries()) {
      try {
        ;[results[index]] = await performGroup(lane, [call])
      } catch (error) {
        failures.set(index, toFailure(error))
      }
    }
    return { results, failures }
  }
}

async function writeInOrder(tx: Transaction, calls: readonly StoreCall[]): Promise<unknown[]> {
  const results: unknown[] = []
  for (const call of calls) results.push(await write(tx, call))
  return results
}

/** The connection sends all statements without waiting for each answer. */
const performTogether = (tx: Transaction, calls: readonly StoreCall[]): Promise<unknown[]> =>
  settleAll(calls.map((call) => perform(tx, call)))

/**
 * The rows that a call may write although another gateway, or the other kind of writes, may write them, too. They are
 * locked in the order of their hashes before anything is written, so that two groups never wait for each other. Runs of
 * a session are accepted in turn, so that the order of their numbers is the order in which they can be claimed.
 */
function rowsOf([name, args]: StoreCall): string[] {
  if (name === 'accept') return rowsOfAccept(args[0])
  if (name === 'acquireLease' || name === 'releaseLease') return [`lease ${args[0]}`]
  if (name === 'renewRun' || name === 'recordSteps' || name === 'releaseRun') return [`run ${args[0].id}`]
  if (name === 'cancelRunningRun') return [`run ${args[0]}`]
  if (name === 'suspendRun' || name === 'postponeRun' || name === 'endRun') return [`run ${args[0].id}`]
  if (name === 'setState' || name === 'deleteState') return [`state ${args[0]} ${args[1]}`]
  if (name === 'removeSchedule' || name === 'moveSchedule') return [`schedule ${args[0]}`]
  if (name === 'releaseWaitingRuns') return args[0].flatMap(({ limits }) => limits.map(budgetRow))
  return name === 'probe' ? ['probe'] : []
}

/** So that no other gateway counts runs between the check of a limit and the COMMIT. */
const budgetRow = ({ scope }: RunLimit): string => `budget ${scope}`

function rowsOfAccept({ idempotency, runs = [], route, state, firing, limits = [] }: AcceptCommand): string[] {
  const rows = runs.filter((run) => !run.unnamedSession).map(({ sessionKey }) => `session ${sessionKey}`)
  if (route) rows.push(`session ${route.sessionKey}`)
  if (idempotency) rows.push(`key ${idempotency.scope} ${idempotency.key}`)
  if (state) rows.push(`state ${state.owner} ${state.key}`)
  if (firing) rows.push(`schedule ${firing.scheduleId}`)
  rows.push(...limits.map(budgetRow))
  return rows
}

const rowLocksSql = `
  SELECT pg_advisory_xact_lock(hash) FROM (
    SELECT DISTINCT hashtextextended(name, ?) AS hash FROM json_array_elements_text(?::json) AS names (name)
    ORDER BY hash) AS hashes`

const hasModelStep = ([name, args]: StoreCall): boolean =>
  name === 'recordSteps' && args[1].steps.some(({ kind }) => kind === 'model')

/**
 * Performs the calls and commits. The group may contain other writes that send all their statements at once. Rows
 * are numbered in the order of the calls.
 */
async function performAccepts(tx: PostgresTransaction, calls: readonly StoreCall[]): Promise<unknown[]> {
  const accepts = calls.filter((call) => call[0] === 'accept')
  const commands = accepts.map(([, [command]]) => command)
  const refusals = await claimAll(tx, commands)
  const results = new Map<StoreCall, unknown>(accepts.map((call, index) => [call, refusals[index] ?? accepted]))
  const inserts = insertAll(tx, commands.filter((_, index) => refusals[index] === undefined).map(toAcceptRows))
  const performed = settleAll(calls.map((call) => results.get(call) ?? perform(tx, call)))
  // Their usage is counted when the store has said that they are new.
  if (calls.some(hasModelStep)) await settleAll([performed, settleAll(inserts)])
  const [done] = await settleAll([performed, settleAll(inserts), tx.commit()])
  return done
}
