// Finds the source files of the built-in extensions, channels/* and plugins/*/*. What `plugin new` copies, in
// plugins/templates, is none.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** @returns absolute paths, sorted, so that the order is the same at every start */
export async function listBuiltins(root: string): Promise<string[]> {
  const folders = (await readFolder(join(root, 'plugins'))).filter(
    (entry) => entry.isDirectory() && entry.name !== 'templates',
  )
  const paths = [join(root, 'channels'), ...folders.map(({ name }) => join(root, 'plugins', name))]
  return (await Promise.all(paths.map(listModules))).flat().toSorted()
}

/** An extension is one file, or a folder with an index file. */
async function listModules(folder: string): Promise<string[]> {
  return (await readFolder(folder)).flatMap((entry) => {
    if (entry.isDirectory()) return [join(folder, entry.name, 'index.ts')]
    return entry.name.endsWith('.ts') ? [join(folder, entry.name)] : []
  })
}

const readFolder = (folder: string) => readdir(folder, { withFileTypes: true })
