// The transforms directory: resolves names to files and reads them. Symbolic links cannot lead outside it.
import { constants, statSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { openParent } from '../config/file/folder.ts'
import { confine, PathError } from '../config/file/paths.ts'

export interface TransformsDirectory {
  /** Path of the folder as configured, which may not exist. */
  dir: string
  /** The real path of the folder, resolved again by each call. @throws {PathError} */
  folder(): string
  /** The real path of a file, given relative to the folder. @throws {PathError} */
  locate(path: string): string
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
    async read(realPath) {
      const { folder: parent, name } = await openParent(folder(), relative(folder(), realPath))
      try {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        const file = await parent.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
        try {
          const stat = await file.stat()
          if (!stat.isFile()) throw new PathError(`"${realPath}" is not a file`)
          if (stat.size > maxFileBytes) throw new PathError(`"${realPath}" is larger than ${maxFileBytes} bytes`)
          return await file.readFile('utf8')
        } finally {
          await file.close()
        }
      } finally {
        await parent.close()
      }
    },
  }
}

const maxFileBytes = 2_097_152

/** Changes when the file at this path is written or replaced. */
export function fingerprint(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}`
  } catch {
    return 'missing'
  }
}

/** `top` and each folder below it that a path passes through: replacing any of them changes the file. */
export function listFolders(top: string, path: string): string[] {
  const names = relative(top, resolve(path, '..')).split(sep).filter(Boolean)
  return [top, ...names.map((_name, index) => resolve(top, ...names.slice(0, index + 1)))]
}
