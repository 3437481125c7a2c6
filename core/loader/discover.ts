// Finds the source files of the built-in extensions: channels/* and plugins/*/*. Commands are listed apart, because the
// command line needs no others. What `plugin new` copies, in plugins/templates, and the page, which is for browsers, are
// none.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The folders in plugins/ that hold no extensions, or those that are listed apart. */
const otherFolders: ReadonlySet<string> = new Set(['commands', 'page', 'templates'])

/** @returns absolute paths, sorted, so that the order is the same at every start */
export async function listBuiltins(root: string): Promise<string[]> {
  const folders = (await readFolder(join(root, 'plugins'))).filter(
    (entry) => entry.isDirectory() && !otherFolders.has(entry.name),
  )
  const paths = [join(root, 'channels'), ...folders.map(({ name }) => join(root, 'plugins', name))]
  return (await Promise.all(paths.map(listModules))).flat().toSorted()
}

/** The modules of the built-in commands, in the same way. */
export const listBuiltinCommands = async (root: string): Promise<string[]> =>
  (await listModules(join(root, 'plugins', 'commands'))).toSorted()

/** An extension is one file, or a folder with an index file. */
async function listModules(folder: string): Promise<string[]> {
  return (await readFolder(folder)).flatMap((entry) => {
    if (entry.isDirectory()) return [join(folder, entry.name, 'index.ts')]
    return entry.name.endsWith('.ts') ? [join(folder, entry.name)] : []
  })
}

const readFolder = (folder: string) => readdir(folder, { withFileTypes: true })

/** Imports modules and returns their default exports. */
export async function importAll(files: readonly string[]): Promise<unknown[]> {
  const modules = files.map(async (file) => (await import(pathToFileURL(file).href)) as { default: unknown })
  return (await Promise.all(modules)).flatMap((module) => module.default)
}
