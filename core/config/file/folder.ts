// Opens files inside a folder and never leaves it, even if somebody replaces a folder with a link meanwhile.
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join, normalize, relative, sep } from 'node:path'
import { confine, PathError } from './paths.ts'

export interface Folder {
  open(name: string, flags: number, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** The entries, sorted. Links are listed as links. */
  entries(): ReturnType<typeof readEntries>
  close(): Promise<void>
}

/** Opens the parent folder of `path` inside `root`. `name` is the last part of `path`; `create` adds folders. */
export async function openParent(
  root: string,
  path: string,
  { create = false } = {},
): Promise<{ folder: Folder; name: string }> {
  const { real, missing } = resolveInside(root, path)
  const steps = [...real, ...missing]
  const name = steps.pop()
  if (name === undefined) throw new PathError(`"${path}" is the folder itself; give the path of a file in it`)
  return { folder: await descend(root, steps, create), name }
}

/** Opens the folder at `path` inside `root`. */
export async function openFolder(root: string, path: string): Promise<Folder> {
  const { real, missing } = resolveInside(root, path)
  if (missing.length > 0) throw new PathError(`"${path}" does not exist`, { missing: true })
  return descend(root, real, false)
}

/** The real path from `root` to the deepest existing folder, and the names that do not exist yet. */
function resolveInside(root: string, path: string): { real: string[]; missing: string[] } {
  // A path that leaves the root is rejected, whether or not it exists.
  confineOrMissing(root, path)
  const realRoot = confine(root, '.')
  const names = normalize(path)
    .split(sep)
    .filter((name) => name !== '' && name !== '.')
  for (let depth = names.length; depth >= 0; depth--) {
    const real = confineOrMissing(root, names.slice(0, depth).join(sep) || '.')
    if (real !== undefined)
      return { real: relative(realRoot, real).split(sep).filter(Boolean), missing: names.slice(depth) }
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

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Opens one folder after the other without following links. Links were resolved before, so a link now is an attack. */
async function descend(root: string, steps: readonly string[], create: boolean): Promise<Folder> {
  let path = confine(root, '.')
  let handle = await open(path, folderFlags)
  for (const step of steps) {
    const above = handle
    try {
      const next = locate(above, path, step)
      if (create) await mkdir(next).catch(ignoreExisting)
      handle = await open(next, folderFlags)
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

/** On Linux, a path can start at an open folder. Elsewhere, a link that is created at this moment is followed. */
const locate = ({ fd }: FileHandle, path: string, name: string): string =>
  join(process.platform === 'linux' ? `/proc/self/fd/${fd}` : path, name)

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
