// The files of an open SQLite store. They can be moved, deleted or replaced while they are open. What is written then is
// gone after a restart, so it must not be acknowledged.
import { statSync } from 'node:fs'
import { GatewayError } from '../../errors.ts'

/** Which files they are: by device and inode, in the order of `lastingFiles`. */
export type FileIds = readonly (string | undefined)[]

/** The store itself, and the lock that keeps other processes from it. Nothing can be written without them. */
const lastingFiles = ['', '.lock']
/** The log and its index. What is in an open log can still be copied into the store. */
const logFiles = ['-wal', '-shm']

/** Identifies the store and its lock. */
export const identifyStore = (path: string): FileIds => lastingFiles.map((suffix) => idOf(path + suffix))

export interface StoreFiles {
  /** Call it when a connection was opened. */
  remember(): void
  /** Throws unless the store and its lock are the files that were opened first. */
  assertUnmoved(): void
  /** Returns whether the log or its index is not that of the connection any more. */
  hasLostLog(): boolean
}

/** @param known what the store and its lock were for an earlier thread */
export function createStoreFiles(path: string, known?: FileIds): StoreFiles {
  let lasting = known
  let log: FileIds = []
  const identifyLog = (): FileIds => logFiles.map((suffix) => idOf(path + suffix))
  return {
    remember: () => {
      lasting ??= identifyStore(path)
      log = identifyLog()
    },
    assertUnmoved: () => {
      const now = identifyStore(path)
      const moved = lastingFiles.find((_suffix, index) => lasting && now[index] !== lasting[index])
      if (moved !== undefined) throw new GatewayError('store_unavailable', describeMove(path + moved))
    },
    hasLostLog: () => identifyLog().some((id, index) => log[index] !== undefined && id !== log[index]),
  }
}

const describeMove = (file: string): string =>
  `The file ${file} was moved, deleted or replaced while the gateway was running. Move it back, ` +
  'or stop the gateway and restore a backup; nothing is accepted until then.'

export const logLost = new GatewayError(
  'store_unavailable',
  "The log of the store's file was moved, deleted or replaced. What it held is copied into the store, " +
    'and another log is begun.',
)

function idOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}
