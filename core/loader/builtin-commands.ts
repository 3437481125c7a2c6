// The built-in commands that are extensions. The build replaces this module with one that imports each of them by name.
import { join } from 'node:path'
import { importAll, listBuiltinCommands } from './discover.ts'

export const builtins = await importAll(await listBuiltinCommands(join(import.meta.dirname, '..', '..')))
