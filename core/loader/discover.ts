// Finds the files of the built-in extensions, channels/* and plugins/*/*, in the source tree or in the build.
import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'

/** `.ts` when the gateway runs from source, `.js` when it runs from the build, which is in `dist`. */
const fileExtension = extname(import.meta.filename)
const packageRoot = dirname(createRequire(import.meta.url).resolve('svc-gateway/package.json'))
const root = fileExtension === '.ts' ? packageRoot : join(packageRoot, 'dist')

/** @returns absolute paths, sorted, so that the order is the same at every start */
export async function discoverExtensions(): Promise<string[]> {
  const folders = (await readFolder(join(root, 'plugins'))).filter((entry) => entry.isDirectory())
  const paths = [join(root, 'channels'), ...folders.map(({ name }) => join(root, 'plugins', name))]
  return (await Promise.all(paths.map(listModules))).flat().toSorted()
}

/** An extension is one file, or a folder with an index file. */
async function listModules(folder: string): Promise<string[]> {
  return (await readFolder(folder)).flatMap((entry) => {
    if (entry.isDirectory()) return [join(folder, entry.name, `index${fileExtension}`)]
    return entry.name.endsWith(fileExtension) && !entry.name.endsWith('.d.ts') ? [join(folder, entry.name)] : []
  })
}

async function readFolder(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
