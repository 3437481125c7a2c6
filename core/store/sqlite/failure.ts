// Classifies an SQLite error: the call is wrong, the disk fails, or the file is damaged.
import { GatewayError } from '../../errors.ts'
import type { CallFailure } from '../group-commit.ts'

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL: every write fails until the disk recovers. */
const diskErrors = new Set([5, 6, 7, 8, 10, 13, 14, 15])
/** CORRUPT, NOTADB: some pages cannot be read, the others can. */
const damageErrors = new Set([11, 26])

export function toFailure(error: unknown, path: string): CallFailure {
  const reason = error instanceof Error ? error.message : String(error)
  if (damageErrors.has(errorCode(error))) return { code: 'store_damaged', reason: describeDamage(path, reason) }
  const isUnavailable = error instanceof GatewayError || isDiskError(error)
  return { code: isUnavailable ? 'store_unavailable' : 'internal_error', reason }
}

export const isDiskError = (error: unknown): boolean => diskErrors.has(errorCode(error))

/** SQLite's primary result code; 0 when the error is not from SQLite. */
const errorCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0

const describeDamage = (path: string, reason: string): string =>
  `The store ${path} is damaged or is not an SQLite file (${reason}); stop the gateway, keep a copy of the file, ` +
  'and restore a backup or recover what can be read, as "A damaged store" in docs/operate.md describes.'
