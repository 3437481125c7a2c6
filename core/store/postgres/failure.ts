// Classifies an error of PostgreSQL: the call is wrong, the database is unavailable, or its files are damaged.
import type { CallFailure } from '../group-commit.ts'

/**
 * Classes of SQLSTATE codes that say nothing about the call: connections, transactions that were rolled back or cut
 * off, resources, locks, the operator, the system, authentication, an unknown database, a server that only reads.
 */
const unavailable = /^(08|25|28|3D|40|53|55|57|58)/
/** Codes of the class "internal error": data or an index cannot be read. */
const damaged = /^XX00[12]$/
/** Serialization failure, deadlock. */
const conflict = /^(40001|40P01)$/

export function toFailure(error: unknown): CallFailure {
  const reason = describe(error)
  const state = sqlState(error)
  if (damaged.test(state)) return { code: 'store_damaged', reason: `PostgreSQL reports damaged data: ${reason}` }
  return { code: isUnavailable(error) ? 'store_unavailable' : 'internal_error', reason }
}

/** True if no call can succeed at the moment. Errors without a code are of the connection, except those of our code. */
export const isUnavailable = (error: unknown): boolean =>
  sqlState(error) === ''
    ? !(error instanceof TypeError || error instanceof SyntaxError)
    : unavailable.test(sqlState(error))

/**
 * True if the connection is of no further use: its server only reads (it is a standby, or it was set to), or stops. A
 * new connection may find another server.
 */
export const isConnectionSpent = (error: unknown): boolean => /^(25006|57P0[1-5])$/.test(sqlState(error))

/**
 * True if the tables are not those that were opened: the check of the store divides by zero, or finds no table.
 */
export const isReplaced = (error: unknown): boolean => /^(22012|42P01)$/.test(sqlState(error))

/** True if the server rejects the user, the password or the database. */
export const isRefusal = (error: unknown): boolean => /^(28|3D)/.test(sqlState(error))

/** True if the same transaction may succeed when it is repeated. */
export const isConflict = (error: unknown): boolean => conflict.test(sqlState(error))

/** PostgreSQL's five characters; empty when the error is not from the server. Node's errors have no severity. */
const sqlState = (error: unknown): string =>
  error instanceof Error && 'severity' in error && 'code' in error ? String(error.code) : ''

/** Node reports several addresses of one host as an error without a message. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}
