// The transforms directory: resolves names to files and reads them. Symbolic links cannot lead outside it.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { confine, PathError } from '../config/file/paths.ts'
import { readInside } from '../config/file/read-inside.ts'

export interface TransformsDirectory {
  /** Path of the folder as configured, which may not exist. */
  dir: string
  /** The real path of the folder, resolved again by each call. @throws {PathError} */
  folder(): string
  /** The real path of a file, given relative to the folder. @throws {PathError} */
  locate(path: string): string
  /** The files that can be transforms, relative to the folder. */
  list(): Promise<readonly string[]>
  /** The text of the file at a real path. Rejects if a part of the path has been replaced by a link since. */
  read(realPath: string): Promise<string>
}

/** `dir` is the folder in use, which must be inside `root`. Both are absolute. */
export function openTransformsDirectory({ root, dir }: { root: string; dir: string }): TransformsDirectory {
  const folder = (): string => confine(root, relative(root, dir) || '.')
  return {
    dir,
    folder,
    locate: (path) => confine(folder(), path),
    list: () => listModules(folder),
    read: async (realPath) => (await readInside(folder(), relative(folder(), realPath), maxFileBytes)).toString('utf8'),
  }
}

/** Files of packages, of tests and with types are no transforms. */
async function listModules(folder: () => string): Promise<readonly string[]> {
  const top = findFolder(folder)
  if (top === undefined) return []
  const found: string[] = []
  const folders = [{ path: '', depth: 1 }]
  for (let next = folders.shift(); next && found.length < maxListed; next = folders.shift()) {
    for (const entry of await readdir(join(top, next.path), { withFileTypes: true })) {
      const path = next.path === '' ? entry.name : `${next.path}/${entry.name}`
      if (entry.isDirectory() && next.depth < maxDepth && !/^(?:\.|node_modules$)/.test(entry.name))
        folders.push({ path, depth: next.depth + 1 })
      else if (entry.isFile() && codeFile.test(path) && !/\.(?:test|d)\.[cm]?[jt]s$/.test(path)) found.push(path)
    }
  }
  return found.slice(0, maxListed).toSorted()
}

const [maxListed, maxDepth] = [500, 5]

function findFolder(folder: () => string): string | undefined {
  try {
    return folder()
  } catch (error) {
    if (error instanceof PathError && error.missing) return undefined
    throw error
  }
}

/** What a transform may be written in. */
export const codeFile = /\.(?:[cm]?js|m?ts)$/

const maxFileBytes = 2_097_152
