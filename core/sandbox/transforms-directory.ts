// The folder of the transforms: which file a name means, and its text. What lies outside does not exist, whatever links
// lead there.
import { constants, statSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { openParent } from '../config/file/folder.ts'
import { confine, PathError } from '../config/file/paths.ts'

export interface TransformsDirectory {
  /** The folder as it is named, be it there or not. */
  dir: string
  /** The real folder, looked up anew. @throws {PathError} */
  folder(): string
  /** The real path of a file, named as seen from the folder. @throws {PathError} */
  locate(path: string): string
  /** The text of a file at a real path. A link that was swapped in since then leads nowhere. */
  read(realPath: string): Promise<string>
}

/** `root` is where all transforms must lie; `dir` the folder in it that is in use. Both absolute. */
export function openTransformsDirectory({ root, dir }: { root: string; dir: string }): TransformsDirectory {
  const folder = (): string => confine(root, relative(root, dir) || '.')
  return {
    dir,
    folder,
    locate: (path) => confine(folder(), path),
    async read(realPath) {
      const { folder: parent, name } = await openParent(folder(), relative(folder(), realPath))
      try {
        // A pipe in place of a file must not make us wait for somebody to write into it.
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

/** Changes whenever the file that a path leads to is another one, or was written. */
export function fingerprint(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}`
  } catch {
    return 'missing'
  }
}

/** The folders that a path leads through, from `top` down: where a link may be swapped. */
export function foldersOf(top: string, path: string): string[] {
  const steps = relative(top, resolve(path, '..')).split(sep).filter(Boolean)
  return [top, ...steps.map((_step, index) => resolve(top, ...steps.slice(0, index + 1)))]
}
