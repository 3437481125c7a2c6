// The command `restore`: puts the files of a backup in place, and keeps the files that were there.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { commandLine, firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { acquireLock } from '../../store/sqlite/lock.ts'
import { CommandError } from '../command-error.ts'
import { filesName, storeName, unpack } from './archive.ts'
import { locateStore } from './contents.ts'

export async function restore(file: string, { config, force = false }: { config?: string; force?: boolean }) {
  process.umask(0o077)
  const archive = resolve(file)
  if (!existsSync(archive)) throw new CommandError(`${archive} does not exist.`)
  const target = locateTarget(config)
  const dir = dirname(target)
  mkdirSync(dir, { recursive: true })
  const folder = mkdtempSync(join(dir, '.svc-gateway-restore-'))
  try {
    process.stderr.write('Verifying the backup\n')
    const { config: name, createdAt } = await unpack(archive, folder)
    const files = join(folder, filesName)
    const restored = join(folder, 'configuration')
    renameSync(join(files, basename(name)), restored)
    const store = locateStore({ value: readConfigFile(restored).value, dir }, files)
    const names = readdirSync(files)
    const existing = listExisting({ dir, store, names: [...names, relative(dir, target)] })
    if (existing.length > 0 && !force) throw wouldReplace(dir, existing)
    assertStopped(store)
    keep(existing)
    for (const entry of names) renameSync(join(files, entry), join(dir, entry))
    renameSync(restored, target)
    mkdirSync(dirname(store), { recursive: true })
    copyFileSync(join(folder, storeName), store)
    process.stdout.write(
      `Restored the backup of ${createdAt}. Check it with: ${commandLine(`check --config ${target}`)}\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function locateTarget(option: string | undefined): string {
  if (option !== undefined) return resolve(option)
  const surroundings = { cwd: process.cwd(), home: homedir() }
  return locateConfig({ ...surroundings, env: process.env }) ?? firstConfigFile(surroundings)
}

interface Place {
  dir: string
  store: string
  /** Names in `dir` that the backup has. */
  names: readonly string[]
}

/** The paths that the restored files would replace. The folder of the store is replaced as a whole. */
function listExisting({ dir, store, names }: Place): string[] {
  const [first = '', ...rest] = relative(dir, store).split(sep)
  const folderOfStore = first !== '..' && rest.length > 0 ? [first] : []
  const inDir = [...new Set([...names, ...folderOfStore])].map((name) => join(dir, name))
  const ofStore = ['', '-wal', '-shm'].map((ending) => `${store}${ending}`)
  const separate = ofStore.filter((path) => !inDir.some((other) => path.startsWith(`${other}${sep}`)))
  return [...inDir, ...separate].filter((path) => existsSync(path))
}

function wouldReplace(dir: string, existing: readonly string[]): CommandError {
  const names = existing.map((path) => relative(dir, path)).join(', ')
  return new CommandError(
    `${dir} already has ${names}. Use --force to replace them; they are kept with the ending ".before-restore-<time>".`,
  )
}

function assertStopped(store: string): void {
  if (existsSync(dirname(store))) acquireLock(store).release()
}

function keep(existing: readonly string[]): void {
  const ending = `.before-restore-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  for (const path of existing) {
    renameSync(path, `${path}${ending}`)
    process.stderr.write(`Kept ${path}${ending}\n`)
  }
}
