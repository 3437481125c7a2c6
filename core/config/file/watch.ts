// Watches files: their content, the links in their paths, and the folders, which may be created or replaced.
import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { isInside, resolveLinks } from './paths.ts'

/** Editors write a file in several steps. Files that did not change for this long count as complete. */
const settleMs = 100

/**
 * How often the files are compared without an event. The system reports none for a folder that was created again where
 * nothing is watched any more, for a link in the middle of a chain, on network file systems, and when it has no
 * watchers left.
 */
const defaultPollMs = 5000

/** Files, each with its fingerprint from when it was read. */
export type SeenFiles = ReadonlyMap<string, string>

export interface FileWatch {
  /** Watches these files from now on. A change since they were read is found, too. */
  follow(seen: SeenFiles): void
  close(): void
}

interface FileWatchOptions {
  /** Called when a file differs from what was seen. It is called again for later changes until `follow` is. */
  onChange(): void
  /** Every folder from here to a file is watched, so that each may be missing or replaced. Default: only the last one. */
  top?: string
  pollMs?: number
}

/**
 * Watches folders, because a watcher of a file stops working when the file is replaced, as many editors do when they
 * save. Does not keep the process alive.
 */
export function createFileWatch({ onChange, top, pollMs = defaultPollMs }: FileWatchOptions): FileWatch {
  const watchers = new Map<string, { watcher: FSWatcher; folderId: string }>()
  let files: readonly string[] = []
  let known = ''
  let latest = ''
  let timer: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined

  /** A watcher follows the inode that it began with, so a folder that was replaced needs a new one. */
  function watchFolders(): void {
    const wanted = new Set(files.flatMap((file) => foldersOf(file, top)))
    for (const [folder, { folderId }] of watchers)
      if (!wanted.has(folder) || readFolderId(folder) !== folderId) release(folder)
    for (const folder of wanted) if (!watchers.has(folder)) observe(folder)
  }

  function observe(folder: string): void {
    const folderId = readFolderId(folder)
    if (folderId === undefined) return
    try {
      const watcher = watch(folder, { persistent: false }, scheduleCheck)
      watcher.on('error', () => release(folder))
      watchers.set(folder, { watcher, folderId })
    } catch {
      // The files in it are compared from time to time.
    }
  }

  function release(folder: string): void {
    watchers.get(folder)?.watcher.close()
    watchers.delete(folder)
  }

  /** Other files in these folders change too. They must neither count as a change nor delay the check. */
  function scheduleCheck(): void {
    timer ??= setTimeout(check, settleMs).unref()
  }

  function check(): void {
    timer = undefined
    watchFolders()
    const now = files.map(fingerprint).join()
    if (now === known) return
    const isSettled = now === latest
    latest = now
    if (isSettled) onChange()
    else scheduleCheck()
  }

  return {
    follow(seen) {
      poll ??= setInterval(scheduleCheck, pollMs).unref()
      files = [...seen.keys()]
      known = [...seen.values()].join()
      watchFolders()
      // A file may have changed after it was read and before it was watched.
      scheduleCheck()
    },
    close() {
      clearTimeout(timer)
      clearInterval(poll)
      for (const folder of watchers.keys()) release(folder)
    },
  }
}

interface WatchedFiles {
  seen: SeenFiles
  /** Lists the files to watch after a change. If it throws, they stay the same. */
  list(): readonly string[]
  onChange(): void
}

/** Calls `onChange` after each change of a file. */
export function watchFiles({ seen, list, onChange }: WatchedFiles): Pick<FileWatch, 'close'> {
  let files: readonly string[] = [...seen.keys()]
  const watched = createFileWatch({ onChange: () => (follow(), onChange()) })
  function follow(): void {
    try {
      files = list()
    } catch {
      // The configuration is broken at the moment.
    }
    watched.follow(seeFiles(files))
  }
  watched.follow(seen)
  return watched
}

export const seeFiles = (files: readonly string[]): SeenFiles => new Map(files.map((file) => [file, fingerprint(file)]))

/** Changes when the file at this path is written or replaced. */
export function fingerprint(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs].join(':')
  } catch {
    return 'missing'
  }
}

/** The folders in which a change may replace the file, also as the target of a link. */
function foldersOf(file: string, top = dirname(file)): string[] {
  const names = isInside(top, file) ? relative(top, dirname(file)).split(sep).filter(Boolean) : []
  const folders = names.map((_name, index) => resolve(top, ...names.slice(0, index + 1)))
  return [top, ...folders, dirname(resolveLinks(file))]
}

/** Undefined while the folder is missing or cannot be entered. */
function readFolderId(folder: string): string | undefined {
  try {
    const stat = statSync(folder)
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}` : undefined
  } catch {
    return undefined
  }
}
