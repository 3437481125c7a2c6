// The directory of an SQLite store, and the lock on the store: only one process may open it. The kernel releases the
// lock when that process dies.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../errors.ts'

export interface Lock {
  release(): void
}

/**
 * Acquires the lock beside the store's file, or throws at once and names the owner. The lock is an empty SQLite file
 * with an open exclusive transaction: every platform supports that, and `kill -9` does not leave it locked.
 */
export function acquireLock(
  path: string,
  advice = 'stop it first, or give this gateway a storage.url of its own',
): Lock {
  const pidFile = `${path}.pid`
  const db = beginExclusive(path, { pidFile, advice })
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  return {
    release() {
      // Another process has the lock if its file was deleted.
      if (readOwner(pidFile) === `process ${process.pid}`) rmSync(pidFile, { force: true })
      db.close()
    },
  }
}

/** SQLite's code for a file that another connection has locked. */
const busyCode = 5

function beginExclusive(path: string, { pidFile, advice }: { pidFile: string; advice: string }): DatabaseSync {
  const db = new DatabaseSync(`${path}.lock`, { timeout: 0, open: false })
  try {
    db.open()
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    if (db.isOpen) db.close()
    const isHeld = error instanceof Error && 'errcode' in error && error.errcode === busyCode
    const sentence = isHeld
      ? `The store ${path} is in use by ${readOwner(pidFile)}; ${advice}.`
      : `The store ${path} cannot be locked: ${String(error)}.`
    throw new GatewayError('store_unavailable', sentence, { cause: error })
  }
}

function readOwner(pidFile: string): string {
  try {
    return `process ${readFileSync(pidFile, 'utf8').trim()}`
  } catch {
    return 'another process'
  }
}

export function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const sentence =
      `The directory ${directory} of the store cannot be created (${code}); ` +
      "give the gateway's user write access, or choose another storage.url."
    throw new GatewayError('store_unavailable', sentence, { cause })
  }
}
