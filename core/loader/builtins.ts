// The built-in extensions without commands. The build replaces this module with one that imports each of them by name.
import { join } from 'node:path'
import { importAll, listBuiltins } from './discover.ts'

export const builtins = await importAll(await listBuiltins(join(import.meta.dirname, '..', '..')))
