// The built-in extensions. The build replaces this module with one that imports each of them by name.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { listBuiltins } from './discover.ts'

const files = await listBuiltins(join(import.meta.dirname, '..', '..'))
const modules = await Promise.all(
  files.map(async (file) => (await import(pathToFileURL(file).href)) as { default: unknown }),
)

export const builtins: readonly unknown[] = modules.flatMap((module) => module.default)
