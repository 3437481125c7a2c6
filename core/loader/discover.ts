// Finds the files of our own extensions: channels/*, plugins/*/*, in the source tree or in the build.
import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'

/** `.ts` when the gateway runs from source, `.js` when it runs from the build, which is in `dist`. */
const fileExtension = extname(import.meta.filename)
const packageRoot = dirname(createRequire(import.meta.url).resolve('svc-gateway/package.json'))
const root = fileExtension === '.ts' ? packageRoot : join(packageRoot, 'dist')

/** @returns absolute paths, sorted, so that every start sees the same order. */
export async function discoverExtensions(): Promise<string[]> {
  const shelves = (await entriesOf(join(root, 'plugins'))).filter((entry) => entry.isDirectory())
  const folders = [join(root, 'channels'), ...shelves.map(({ name }) => join(root, 'plugins', name))]
  return (await Promise.all(folders.map(modulesIn))).flat().toSorted()
}

/** An extension is one file, or a folder of its own name that holds an index file. */
async function modulesIn(folder: string): Promise<string[]> {
  return (await entriesOf(folder)).flatMap((entry) => {
    if (entry.isDirectory()) return [join(folder, entry.name, `index${fileExtension}`)]
    return entry.name.endsWith(fileExtension) && !entry.name.endsWith('.d.ts') ? [join(folder, entry.name)] : []
  })
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
