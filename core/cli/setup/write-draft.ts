// Writes the checked configuration, and keeps the file that it replaces.
import { copyFileSync, chmodSync, existsSync } from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import { writeFirstText } from '../../config/file/first-run.ts'

/** Returns the name of the copy, if there was a file. */
export function writeDraft(file: string, text: string, force: boolean): string | undefined {
  const kept = force && existsSync(file) ? keep(file) : undefined
  writeFirstText(file, text, { force })
  return kept
}

function keep(file: string): string {
  const copy = `${file}.before-setup-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  try {
    copyFileSync(file, copy)
    chmodSync(copy, 0o600)
    return copy
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(file, [{ path: '', problem: `cannot be kept as ${copy} (${code}), so it is not replaced` }])
  }
}
