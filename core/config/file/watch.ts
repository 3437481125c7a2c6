// Notices that the configuration file, or a file that holds one of its secrets, has changed.
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Editors write a file in several steps: one that has not changed for so long counts as written. */
const settleMs = 100

/**
 * Calls back after each change of a file: of its text, and of what a link on the way to it names, which is how
 * Kubernetes replaces a mounted ConfigMap or Secret. `files` is asked again after each change; while it throws, the
 * files stay the same. Never keeps the process alive.
 */
export function watchFiles(files: () => readonly string[], onChange: () => void): { close(): void } {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let watched = followFiles([])
  let known = fingerprintOf(watched)
  let seen = known

  function followFiles(before: readonly string[]): readonly string[] {
    const now = listed(files, before)
    const folders = new Set(now.flatMap((file) => [dirname(file), dirname(realPath(file))]))
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) forgetFolder(folder, watcher)
    for (const folder of folders) if (!watchers.has(folder)) followFolder(folder)
    return now
  }

  /** The folder, because a watcher of the file itself goes blind once the file is replaced. */
  function followFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, lookSoon)
      watcher.on('error', () => forgetFolder(folder, watcher))
      watchers.set(folder, watcher)
    } catch {
      // A folder that is not there yet, or one more than the system allows: SIGHUP has the files read all the same.
    }
  }

  function forgetFolder(folder: string, watcher: FSWatcher): void {
    watcher.close()
    watchers.delete(folder)
  }

  /** Others write into these folders, too: they must neither count as a change nor put off the look at ours. */
  function lookSoon(): void {
    timer ??= setTimeout(look, settleMs).unref()
  }

  function look(): void {
    timer = undefined
    const now = fingerprintOf(watched)
    if (now === known) return
    const isSettled = now === seen
    seen = now
    if (isSettled) {
      watched = followFiles(watched)
      known = seen = fingerprintOf(watched)
      onChange()
    }
    lookSoon()
  }

  return {
    close: () => {
      clearTimeout(timer)
      for (const [folder, watcher] of watchers) forgetFolder(folder, watcher)
    },
  }
}

function listed(files: () => readonly string[], otherwise: readonly string[]): readonly string[] {
  try {
    return files()
  } catch {
    return otherwise
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** Differs when any of the files was written or replaced. */
const fingerprintOf = (files: readonly string[]): string => files.map(stampOf).join()

function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true })
    return [dev, ino, size, mtimeNs].join(':')
  } catch {
    return 'none'
  }
}
