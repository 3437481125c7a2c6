// A folder that is open: what is reached through it lies in it, even if somebody swaps a link in on the way.
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join, normalize, relative, sep } from 'node:path'
import { confine, PathError } from './paths.ts'

export interface Folder {
  open(name: string, flags: number, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** What lies in it, sorted; links are named as links. */
  entries(): ReturnType<typeof readEntries>
  close(): Promise<void>
}

/**
 * Opens the folder of `path` inside `root`, and names what `path` means in it. `create`: makes the folders that are
 * missing.
 */
export async function openParent(
  root: string,
  path: string,
  { create = false } = {},
): Promise<{ folder: Folder; name: string }> {
  const { real, missing } = resolveInside(root, path)
  const steps = [...real, ...missing]
  const name = steps.pop()
  if (name === undefined) throw new PathError(`"${path}" is the folder itself; name a file in it`)
  return { folder: await descend(root, steps, create), name }
}

/** Opens the folder that `path` means inside `root`. */
export async function openFolder(root: string, path: string): Promise<Folder> {
  const { real, missing } = resolveInside(root, path)
  if (missing.length > 0) throw new PathError(`"${path}" does not exist`, { missing: true })
  return descend(root, real, false)
}

/** The real way from `root` to what is there, and the names that are not there yet. */
function resolveInside(root: string, path: string): { real: string[]; missing: string[] } {
  // A path that climbs or begins elsewhere is refused as a whole, whatever of it exists.
  confineOrMissing(root, path)
  const realRoot = confine(root, '.')
  const names = normalize(path)
    .split(sep)
    .filter((name) => name !== '' && name !== '.')
  for (let there = names.length; there >= 0; there--) {
    const real = confineOrMissing(root, names.slice(0, there).join(sep) || '.')
    if (real !== undefined)
      return { real: relative(realRoot, real).split(sep).filter(Boolean), missing: names.slice(there) }
  }
  return { real: [], missing: names }
}

function confineOrMissing(root: string, path: string): string | undefined {
  try {
    return confine(root, path)
  } catch (error) {
    if (error instanceof PathError && error.missing) return undefined
    throw error
  }
}

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * One step at a time, each from the folder before and none through a link: the way was resolved before, so a link now
 * is one that was swapped in.
 */
async function descend(root: string, steps: readonly string[], create: boolean): Promise<Folder> {
  let path = confine(root, '.')
  let handle = await open(path, asFolder)
  for (const step of steps) {
    const above = handle
    try {
      const next = locate(above, path, step)
      if (create) await mkdir(next).catch(ignoreExisting)
      handle = await open(next, asFolder)
    } finally {
      await above.close()
    }
    path = join(path, step)
  }
  return createFolder(handle, path)
}

function createFolder(handle: FileHandle, path: string): Folder {
  const at = (name: string) => locate(handle, path, name)
  return {
    open: (name, flags, mode) => open(at(name), flags | constants.O_NOFOLLOW, mode),
    rename: (from, to) => rename(at(from), at(to)),
    remove: (name) => rm(at(name), { force: true }),
    entries: () => readEntries(at('.')),
    close: () => handle.close(),
  }
}

async function readEntries(path: string) {
  const entries = await readdir(path, { withFileTypes: true })
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Linux lets a path begin at an open folder. Elsewhere Node cannot, and a link swapped in at the very moment could
 * mislead it.
 */
const locate = ({ fd }: FileHandle, path: string, name: string): string =>
  join(process.platform === 'linux' ? `/proc/self/fd/${fd}` : path, name)

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
