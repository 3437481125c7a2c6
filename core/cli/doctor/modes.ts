// Checks the permissions of files: secrets and state are private, and only the owner changes configuration and code.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { nameSections } from '../../config/channels/sections.ts'
import { listSecretFiles } from '../../config/file/secrets.ts'
import type { Finding } from './finding.ts'
import { type ReadyConfig, withConfig } from './subject.ts'

/** Windows has other permissions. */
const skippedOnWindows = { skipped: 'Windows has no such permissions' }

export const checkPrivacy = withConfig((ready) => {
  if (process.platform === 'win32') return skippedOnWindows
  const state = join(ready.resolved.dir, 'state')
  const secrets = [...new Set(listSecrets(ready))].filter((path) => isOpen(path, 0o004))
  return [
    ...(isOpen(state, 0o005) ? [readable({ id: 'state_readable', path: state, what: 'The state', mode: '700' })] : []),
    ...secrets.map((path) => readable({ id: 'secret_file_readable', path, what: 'The secret', mode: '600' })),
  ]
})

export const checkWriters = withConfig((ready) => {
  if (process.platform === 'win32') return skippedOnWindows
  return [...new Set(listCode(ready))].filter((path) => isOpen(path, 0o002)).map(writable)
})

function listSecrets({ document, resolved: { schema }, extensions }: ReadyConfig): string[] {
  const { named } = nameSections(document, extensions.channels)
  return listSecretFiles(named, schema)
}

/** The configuration names programs to run, and the other files are run. */
function listCode({ resolved: { file, dir, config }, extensions }: ReadyConfig): string[] {
  const { transformsDir, mappings } = config.hooks
  const modules = mappings.flatMap(({ transform }) => (transform ? [join(transformsDir, transform.module)] : []))
  return [file, dir, transformsDir, ...modules, ...extensions.pluginFiles()]
}

/** Whether others than the owner and the group have one of these permissions. */
function isOpen(path: string, bits: number): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  // In a folder such as /tmp, nobody can replace the files of others.
  return (mode & stickyBit) === 0 && (mode & bits) !== 0
}

const stickyBit = 0o1000

interface Readable {
  id: 'state_readable' | 'secret_file_readable'
  path: string
  what: string
  mode: string
}

const readable = ({ id, path, what, mode }: Readable): Finding => ({
  id,
  severity: 'warning',
  where: path,
  problem: `${what} at ${path} can be read by every user of this machine.`,
  fix: `Run: chmod ${mode} ${path}`,
})

const writable = (path: string): Finding => ({
  id: 'writable_by_others',
  severity: 'error',
  where: path,
  problem: `Every user of this machine can change ${path}, and with it what the gateway does.`,
  fix: `Run: chmod o-w ${path}`,
})
