// Notices when files change, also when they come, go, or are reached through a link that was swapped.
import { type FSWatcher, statSync, watch } from 'node:fs'
import type { Log } from '../plugin.ts'
import { fingerprint, foldersOf } from './transforms-directory.ts'

export interface Watch {
  /** From now on these files count; `seen` is what they were like when they were read. */
  follow(seen: ReadonlyMap<string, string>): void
  close(): void
}

export interface Watcher {
  watch(onChange: () => void): Watch
  close(): void
}

/**
 * `top` is the folder above which nothing is watched. Folders are watched, not files: an editor puts a new file in the
 * place of the old.
 */
export function createWatcher({ top, log }: { top: string; log: Log }): Watcher {
  const watchers = new Map<string, { watcher: FSWatcher; folderId: string }>()
  const watches = new Set<{ files: ReadonlyMap<string, string>; onChange(): void }>()
  let pause: NodeJS.Timeout | undefined

  /** An editor writes in several steps; they are looked at together. */
  const stir = (): void => void (pause ??= setTimeout(look, settleMs).unref())

  function look(): void {
    pause = undefined
    watchFolders()
    for (const one of watches) if (hasChanged(one.files)) one.onChange()
  }

  /** A watcher stays with the folder that it began with; where another one has come in its place, it is begun anew. */
  function watchFolders(): void {
    const wanted = new Set(
      [...watches].flatMap(({ files }) => [...files.keys()].flatMap((path) => foldersOf(top, path))),
    )
    for (const [folder, { folderId }] of watchers) if (!wanted.has(folder) || idOf(folder) !== folderId) release(folder)
    for (const folder of wanted) if (!watchers.has(folder)) observe(folder)
  }

  function observe(folder: string): void {
    const folderId = idOf(folder)
    // One that is not there is told of by the folder above it when it comes.
    if (folderId === undefined) return
    try {
      const watcher = watch(folder, { persistent: false }, stir)
      watcher.on('error', () => release(folder))
      watchers.set(folder, { watcher, folderId })
    } catch (error) {
      log.warn(
        { folder, code: (error as NodeJS.ErrnoException).code },
        'a folder of transforms cannot be watched; changes in it need a restart',
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
          // What was written between reading and watching would be missed.
          stir()
        },
        close: () => void watches.delete(one),
      }
    },
    close() {
      clearTimeout(pause)
      for (const folder of watchers.keys()) release(folder)
      watches.clear()
    },
  }
}

const settleMs = 100

function idOf(folder: string): string | undefined {
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat?.isDirectory() ? `${stat.dev}:${stat.ino}` : undefined
}

const hasChanged = (files: ReadonlyMap<string, string>): boolean =>
  [...files].some(([path, seen]) => fingerprint(path) !== seen)
