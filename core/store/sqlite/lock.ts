// The lock on the store: one process at a time, told apart by its pid, freed by the kernel when it dies.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { GatewayError } from '../../errors.ts'

export interface Lock {
  release(): void
}

/**
 * Takes the lock that lies beside the store's file, or throws at once, naming the owner.
 * It is an empty SQLite file with an open exclusive transaction: a lock that every platform has and that no kill -9
 * leaves behind.
 */
export function acquireLock(path: string): Lock {
  const pidFile = `${path}.pid`
  const db = beginExclusive(path, pidFile)
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  return {
    release() {
      rmSync(pidFile, { force: true })
      db.close()
    },
  }
}

const busy = 5

function beginExclusive(path: string, pidFile: string): DatabaseSync {
  const db = new DatabaseSync(`${path}.lock`, { timeout: 0, open: false })
  try {
    db.open()
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    if (db.isOpen) db.close()
    const held = error instanceof Error && 'errcode' in error && error.errcode === busy
    const sentence = held
      ? `The store ${path} is in use by ${ownerIn(pidFile)}; stop it first, or give this gateway a storage.url of its own.`
      : `The store ${path} cannot be locked: ${String(error)}.`
    throw new GatewayError('store_unavailable', sentence, { cause: error })
  }
}

function ownerIn(pidFile: string): string {
  try {
    return `process ${readFileSync(pidFile, 'utf8').trim()}`
  } catch {
    return 'another process'
  }
}
