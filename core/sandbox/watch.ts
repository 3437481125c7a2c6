// Notices when files change, also when they come, go, or are reached through a link that was swapped.
import { type FSWatcher, watch } from 'node:fs'
import type { Log } from '../plugin.ts'
import { fingerprint, foldersOf } from './drawer.ts'

export interface Watch {
  /** From now on these files count; `seen` is what they were like when they were read. */
  follow(seen: ReadonlyMap<string, string>): void
  close(): void
}

export interface Watcher {
  watch(onChange: () => void): Watch
  close(): void
}

/** `top` is the folder above which nothing is watched. Folders are watched, not files: an editor puts a new file in the place of the old. */
export function createWatcher({ top, log }: { top: string; log: Log }): Watcher {
  const watchers = new Map<string, FSWatcher>()
  const watches = new Set<{ files: ReadonlyMap<string, string>; onChange(): void }>()
  let pause: NodeJS.Timeout | undefined

  /** An editor writes in several steps; they are looked at together. */
  const stir = (): void => void (pause ??= setTimeout(look, settleMs).unref())

  function look(): void {
    pause = undefined
    watchFolders()
    for (const one of watches) if (hasChanged(one.files)) one.onChange()
  }

  function watchFolders(): void {
    const wanted = new Set([...watches].flatMap(({ files }) => [...files.keys()].flatMap((path) => foldersOf(top, path))))
    for (const [folder, watcher] of watchers) {
      if (!wanted.has(folder)) release(folder, watcher)
    }
    for (const folder of wanted) if (!watchers.has(folder)) observe(folder)
  }

  function observe(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, stir)
      // A folder that is gone is watched again when it comes back: the one above it tells.
      watcher.on('error', () => release(folder, watcher))
      watchers.set(folder, watcher)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' && code !== 'ENOTDIR') log.warn({ folder, code }, 'a folder of transforms cannot be watched; changes in it need a restart')
    }
  }

  function release(folder: string, watcher: FSWatcher): void {
    watcher.close()
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
          // What was written between reading and watching would be missed.
          stir()
        },
        close: () => void watches.delete(one),
      }
    },
    close() {
      clearTimeout(pause)
      for (const [folder, watcher] of watchers) release(folder, watcher)
      watches.clear()
    },
  }
}

const settleMs = 100

const hasChanged = (files: ReadonlyMap<string, string>): boolean => [...files].some(([path, seen]) => fingerprint(path) !== seen)
