// Writes a file that holds secrets: whole or not at all, readable by its owner alone.
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes `text` to `file` with mode 600, and its folder, where missing, with mode 700.
 * @throws an `EEXIST` error of the system call `link` when the file exists and `overwrite` is not set.
 */
export function writePrivateFile(file: string, text: string, { overwrite = false } = {}): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const target = overwrite ? throughLinks(file) : file
  const draft = `${target}.${randomUUID()}.tmp`
  try {
    writeDurably(draft, text)
    // A link refuses to replace, a rename replaces at once: neither leaves half a file.
    if (overwrite) renameSync(draft, target)
    else linkSync(draft, target)
    syncFolder(dirname(target))
  } finally {
    rmSync(draft, { force: true })
  }
}

function writeDurably(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600)
  try {
    // All of it: one call of `writeSync` may write less than it was given, and says so only in what it returns.
    writeFileSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Makes the new name last through a power cut. Where a folder can't be synced, a cut may bring the old file back,
 * whole.
 */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r')
    try {
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  } catch {
    // The file is in its place; not every file system syncs folders.
  }
}

/** A symbolic link stays one: what it points to is replaced. */
function throughLinks(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
