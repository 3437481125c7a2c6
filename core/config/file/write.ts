// Writes a private file atomically.
import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { resolveLinks } from './paths.ts'

/**
 * Writes `text` to `file` with mode 600. A missing folder is created with mode 700.
 * @throws an `EEXIST` error of the system call `link` if the file exists and `overwrite` is not set.
 */
export function writePrivateFile(file: string, text: string, { overwrite = false } = {}): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // The target of a symbolic link is replaced, and the link remains.
  const target = overwrite ? resolveLinks(file) : file
  const draft = `${target}.${randomUUID()}.tmp`
  try {
    writeDurably(draft, text)
    // `link` never replaces a file, and `rename` replaces it atomically.
    if (overwrite) renameSync(draft, target)
    else linkSync(draft, target)
    syncFolder(dirname(target))
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Whether a file can be replaced: it is written anew, so its folder matters. */
export function isWritable(file: string): boolean {
  try {
    accessSync(dirname(resolveLinks(file)), constants.W_OK)
    return true
  } catch {
    return false
  }
}

function writeDurably(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600)
  try {
    // Not `writeSync`, which may write only a part of the text.
    writeFileSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Makes the new name durable. If a folder cannot be synced, a power failure may restore the complete old file. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r')
    try {
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  } catch {
    // Not all file systems can sync folders.
  }
}
