// Watches the configuration file and its secret files.
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Editors write a file in several steps. A file that did not change for this long counts as complete. */
const settleMs = 100

/**
 * Calls `onChange` after each change of a file: of its content, and of links in its path, which is how Kubernetes
 * replaces a mounted ConfigMap or Secret. `files` is called again after each change; if it throws, the list stays the
 * same. Does not keep the process alive.
 */
export function watchFiles(files: () => readonly string[], onChange: () => void): { close(): void } {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let watched = updateWatchers([])
  let known = fingerprintOf(watched)
  let seen = known

  function updateWatchers(before: readonly string[]): readonly string[] {
    const now = listFiles(files, before)
    const folders = new Set(now.flatMap((file) => [dirname(file), dirname(realPath(file))]))
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) unwatchFolder(folder, watcher)
    for (const folder of folders) if (!watchers.has(folder)) watchFolder(folder)
    return now
  }

  /** Watches the folder, because a watcher of a file stops working when the file is replaced. */
  function watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, scheduleCheck)
      watcher.on('error', () => unwatchFolder(folder, watcher))
      watchers.set(folder, watcher)
    } catch {
      // The folder does not exist yet, or the system's limit is reached. SIGHUP still works.
    }
  }

  function unwatchFolder(folder: string, watcher: FSWatcher): void {
    watcher.close()
    watchers.delete(folder)
  }

  /** Other files in these folders change too. They must neither count as a change nor delay the check. */
  function scheduleCheck(): void {
    timer ??= setTimeout(check, settleMs).unref()
  }

  function check(): void {
    timer = undefined
    const now = fingerprintOf(watched)
    if (now === known) return
    const isSettled = now === seen
    seen = now
    if (isSettled) {
      watched = updateWatchers(watched)
      known = seen = fingerprintOf(watched)
      onChange()
    }
    scheduleCheck()
  }

  return {
    close: () => {
      clearTimeout(timer)
      for (const [folder, watcher] of watchers) unwatchFolder(folder, watcher)
    },
  }
}

function listFiles(files: () => readonly string[], fallback: readonly string[]): readonly string[] {
  try {
    return files()
  } catch {
    return fallback
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** Differs if a file was written or replaced. */
const fingerprintOf = (files: readonly string[]): string => files.map(stampOf).join()

function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true })
    return [dev, ino, size, mtimeNs].join(':')
  } catch {
    return 'none'
  }
}
