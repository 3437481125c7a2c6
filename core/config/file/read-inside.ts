// Reads a file inside a folder. Neither a path nor a symbolic link leads outside of the folder.
import { constants } from 'node:fs'
import { openParent } from './folder.ts'
import { PathError } from './paths.ts'

/** @throws {PathError} when the path leaves the root, or when there is no file of at most `maxBytes` */
export async function readInside(root: string, path: string, maxBytes: number): Promise<Buffer> {
  const { folder, name } = await openParent(root, path)
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const file = await folder.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) throw new PathError(`"${path}" is not a file`)
      if (stat.size > maxBytes) throw new PathError(`"${path}" is larger than ${maxBytes} bytes`)
      return await file.readFile()
    } finally {
      await file.close()
    }
  } finally {
    await folder.close()
  }
}
