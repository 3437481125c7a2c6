// Reads the files that a curl command names.
import { readFileSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { CommandError } from 'svc-gateway/plugin'

/** Only files below the working directory, so that a command from elsewhere cannot put private files into a sample. */
export function readLocal(dir: string, path: string): string {
  if (path.startsWith(sep) || path.split(/[\\/]/).includes('..')) throw refuse(path)
  try {
    const file = realpathSync(join(dir, path))
    if (file.startsWith(realpathSync(dir) + sep)) return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(`The file "${path}" of the command cannot be read (${code}).`)
  }
  throw refuse(path)
}

const refuse = (path: string): CommandError =>
  new CommandError(`The file "${path}" of the command cannot be used: it is not in the working directory.`)
