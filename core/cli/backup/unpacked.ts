// Checks what an archive has unpacked to before anything reads it: only files and folders, which only the user can use.
import { chmodSync, lstatSync, readdirSync, unlinkSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { CommandError } from '../../plugin/errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'

interface Limits {
  archive: string
  /** What was read from the archive. Only sparse files are larger. */
  bytes: number
}

const maxEntries = 1_000_000

/**
 * Masks the modes, and removes symbolic links, which backups of older versions may have.
 * @returns the paths of these links
 * @throws if there is anything else than files and folders
 */
export function secureEntries(folder: string, { archive, bytes }: Limits): string[] {
  const links: string[] = []
  const folders = [folder]
  let entries = 0
  let size = 0
  const refuse = (reason: string): CommandError => new CommandError(`${archive} is not restored: ${reason}.`)

  function secure(path: string): void {
    const name = relative(folder, path).replaceAll(sep, '/')
    const stat = lstatSync(path)
    if (stat.isDirectory()) folders.push(path)
    else if (stat.isSymbolicLink()) {
      unlinkSync(path)
      links.push(name)
    } else if (!stat.isFile()) throw refuse(`it has ${escapeInLine(name)}, which is neither a file nor a folder`)
    else if (stat.nlink > 1) throw refuse(`it has ${escapeInLine(name)}, which is a hard link`)
    else {
      chmodSync(path, 0o600 | (stat.mode & 0o100))
      size += stat.size
    }
  }

  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    chmodSync(next, 0o700)
    for (const name of readdirSync(next)) {
      secure(join(next, name))
      if (++entries > maxEntries) throw refuse(`it has more than ${maxEntries.toLocaleString('en')} files and folders`)
      if (size > bytes) throw refuse('it has files that are larger than what it holds of them')
    }
  }
  return links
}
