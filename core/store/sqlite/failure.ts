// What an error of SQLite means: the call is at fault, the disk is, or the file is damaged.
import { GatewayError } from '../../errors.ts'

export type FailureCode = 'internal_error' | 'store_unavailable' | 'store_damaged'

export interface Failure {
  code: FailureCode
  reason: string
}

/** BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL: they hit every write until the disk recovers. */
const diskErrors = new Set([5, 6, 7, 8, 10, 13, 14, 15])
/** CORRUPT, NOTADB: some pages cannot be read; the others can. */
const damage = new Set([11, 26])

export function failureOf(error: unknown, path: string): Failure {
  const reason = error instanceof Error ? error.message : String(error)
  if (damage.has(codeOf(error))) return { code: 'store_damaged', reason: damagedSentence(path, reason) }
  const away = error instanceof GatewayError || isOfTheDisk(error)
  return { code: away ? 'store_unavailable' : 'internal_error', reason }
}

export const isOfTheDisk = (error: unknown): boolean => diskErrors.has(codeOf(error))

/** The primary result code; 0: the error is not SQLite's. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0

const damagedSentence = (path: string, reason: string): string =>
  `The store ${path} is damaged or is not an SQLite file (${reason}); stop the gateway, keep a copy of the file, and restore a backup or recover what can be read, as "A damaged store" in docs/operate.md describes.`
