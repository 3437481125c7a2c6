// Classifies an error of PostgreSQL (the call is wrong, the database is unavailable, or its files are damaged), and
// explains why a database cannot be used.
import type { CallFailure } from '../group-commit.ts'

/**
 * Classes of SQLSTATE codes that say nothing about the call: connections, transactions that were rolled back or cut
 * off, resources, locks, the operator, the system, authentication, an unknown database, a server that only reads; and
 * the code of a missing right.
 */
const unavailable = /^(08|25|28|3D|40|53|55|57|58|42501)/
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

export const onlyReads =
  'it only reads, as a standby does; name the primary in the URL, or reset default_transaction_read_only'

export const lendsConnections =
  'it is behind a pooler that lends connections for one transaction, so that they keep no settings; name the server ' +
  'itself, or a pooler in session mode'

/** Node's codes for a certificate whose authority is not known here. */
const unknownAuthority: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Returns a clause without a period. It never contains the URL, which may have a password. */
export function explainRefusal(error: unknown): string {
  const { code, path, message = '' } = error as Partial<NodeJS.ErrnoException>
  if (unknownAuthority.has(code))
    return "its certificate is not signed by a known authority; name the authority's file with sslrootcert in the URL"
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'its certificate is for another host; use a host that the certificate names, or sslmode=verify-ca'
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired; renew it on the server'
  if (code === 'ERR_OSSL_PEM_NO_START_LINE')
    return 'a file of sslrootcert, sslcert or sslkey is not in PEM format; correct the path in the URL'
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH')
    return 'sslkey is not the key of sslcert; correct the paths in the URL'
  // The driver's sentence if there is no password at all.
  if (message.includes('client password must be a string'))
    return 'it asks for a password; add one to the URL, or set PGPASSWORD'
  // The driver's sentence if it cannot connect in time.
  if (message === 'timeout expired')
    return 'it does not answer; check the host and the port, and that a firewall lets the gateway through'
  if (path !== undefined && message.includes(', open '))
    return `the file ${path} of sslrootcert, sslcert or sslkey cannot be read (${code}); correct the path in the URL`
  if (code === '53300')
    return 'it has no connection left; raise max_connections, or use fewer gateways: each of them needs five connections'
  if (code === '25006') return onlyReads
  // A prepared statement exists already, or does not exist: the connection was lent to others before.
  if (code === '42P05' || code === '26000') return lendsConnections
  return describe(error)
}
