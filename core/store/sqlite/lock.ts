// The directory of an SQLite store, and the lock on the store: only one process may open it. The kernel releases the
// lock when that process dies.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
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
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  } catch (error) {
    db.close()
    throw cannotLock(path, error)
  }
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
    if (!isHeld) throw cannotLock(path, error)
    const sentence = `The store ${path} is in use by ${readOwner(pidFile)}; ${advice}.`
    throw new GatewayError('store_unavailable', sentence, { cause: error })
  }
}

function cannotLock(path: string, cause: unknown): GatewayError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const sentence =
    `The store ${path} cannot be locked (${reason}); ` +
    `give the directory ${dirname(path)} and its files to the gateway's user, or choose another storage.url.`
  return new GatewayError('store_unavailable', sentence, { cause })
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
    throw new GatewayError('store_unavailable', describeDirectory(directory, cause), { cause })
  }
}

function describeDirectory(directory: string, error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  const isFile = code === 'EEXIST' || code === 'ENOTDIR'
  const fix = isFile ? 'move the file away that has its place' : "give the gateway's user write access"
  return `The directory ${directory} of the store cannot be created (${code}); ${fix}, or choose another storage.url.`
}
