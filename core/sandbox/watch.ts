// Watches files for changes, including files that are created, deleted, or replaced through a symbolic link.
import { type FSWatcher, statSync, watch } from 'node:fs'
import type { Log } from '../plugin/plugin.ts'
import { fingerprint, listFolders } from './transforms-directory.ts'

export interface Watch {
  /** Watches these files from now on. `seen` holds the fingerprints they had when they were read. */
  follow(seen: ReadonlyMap<string, string>): void
  close(): void
}

export interface Watcher {
  watch(onChange: () => void): Watch
  close(): void
}

/**
 * Watches no folder above `top`. Folders are watched instead of files, because many editors replace a file when they
 * save it.
 */
export function createWatcher({ top, log }: { top: string; log: Log }): Watcher {
  const watchers = new Map<string, { watcher: FSWatcher; folderId: string }>()
  const watches = new Set<{ files: ReadonlyMap<string, string>; onChange(): void }>()
  let checkTimer: NodeJS.Timeout | undefined

  /** Delayed, because an editor saves a file in several steps. */
  const scheduleCheck = (): void => void (checkTimer ??= setTimeout(checkFiles, settleMs).unref())

  function checkFiles(): void {
    checkTimer = undefined
    watchFolders()
    for (const one of watches) if (hasChanged(one.files)) one.onChange()
  }

  /** A watcher follows the inode that it began with, so a folder that was replaced needs a new one. */
  function watchFolders(): void {
    const wanted = new Set(
      [...watches].flatMap(({ files }) => [...files.keys()].flatMap((path) => listFolders(top, path))),
    )
    for (const [folder, { folderId }] of watchers)
      if (!wanted.has(folder) || readFolderId(folder) !== folderId) release(folder)
    for (const folder of wanted) if (!watchers.has(folder)) observe(folder)
  }

  function observe(folder: string): void {
    const folderId = readFolderId(folder)
    // The watcher of its parent notices when a missing folder is created.
    if (folderId === undefined) return
    try {
      const watcher = watch(folder, { persistent: false }, scheduleCheck)
      watcher.on('error', () => release(folder))
      watchers.set(folder, { watcher, folderId })
    } catch (error) {
      log.warn(
        { folder, code: (error as NodeJS.ErrnoException).code },
        'cannot watch a folder of transforms; restart the gateway to apply changes in it',
      )
    }
  }

  function release(folder: string): void {
    watchers.get(folder)?.watcher.close()
    watchers.delete(folder)
  }

  return {
    watch(onChange) {
      const one = { files: new Map<string, string>() as ReadonlyMap<string, string>, onChange }
      watches.add(one)
      return {
        follow(seen) {
          one.files = seen
          watchFolders()
          // A file may have changed after it was read and before it was watched.
          scheduleCheck()
        },
        close: () => void watches.delete(one),
      }
    },
    close() {
      clearTimeout(checkTimer)
      for (const folder of watchers.keys()) release(folder)
      watches.clear()
    },
  }
}

const settleMs = 100

function readFolderId(folder: string): string | undefined {
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() ? `${stat.dev}:${stat.ino}` : undefined
}

const hasChanged = (files: ReadonlyMap<string, string>): boolean =>
  [...files].some(([path, seen]) => fingerprint(path) !== seen)
